// SPDX-License-Identifier: Apache-2.0
#include "models/folder_files.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/shown_text.h"
#include "platform/file_io.h"

namespace heed {
namespace {

bool is_there(const std::string& path) { return platform::file_exists(path.c_str()); }

bool is_of_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

// Whether the path may be a name on a hub, as "bert-base-uncased" or "google/flan-t5-base".
bool is_like_a_name(std::string_view path) {
  return !path.empty() && path.front() != '.' && path.front() != '/' && path.back() != '/' &&
         std::ranges::count(path, '/') <= 1 &&
         std::ranges::all_of(path, [](char c) { return is_of_a_name(c) || c == '/'; });
}

}  // namespace

ModelConfig config_in(const std::string& folder) {
  if (std::optional<ModelConfig> config = find_model_config(folder)) return std::move(*config);
  if (!is_there(folder)) {
    fail(Status::Io, "%s is not there, expected the path of a folder with config.json and weights%s",
         in_quotes(folder).c_str(),
         is_like_a_name(folder)
             ? "; if it is the name of a model on a hub, download its folder first: heed downloads nothing"
             : "");
  }
  if (!is_there(folder + "/.")) {
    fail(Status::Io, "%s is a file, expected the folder that it and config.json are in", in_quotes(folder).c_str());
  }
  fail(Status::Io, "%s has no config.json, expected a folder as Hugging Face's libraries write it",
       in_quotes(folder).c_str());
}

std::string weights_in(const std::string& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    std::string path = folder + "/" + name;
    if (is_there(path)) return path;
  }
  fail(Status::Io,
       "%s has neither model.safetensors nor model.safetensors.index.json, expected one of them: heed reads no other "
       "files of weights",
       in_quotes(folder).c_str());
}

}  // namespace heed
