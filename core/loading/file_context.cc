// SPDX-License-Identifier: Apache-2.0
#include "loading/file_context.h"

#include <string>

#include "base/error.h"

namespace heed {

namespace {

std::optional<ModelConfig> config_beside(const SafetensorsFile& file, const LoadAccept& accept) {
  const std::string folder = file.folder();
  if (folder.empty() || accept.has(feature::kConfig)) return std::nullopt;
  try {
    return find_model_config(folder);
  } catch (const Error& error) {
    fail(error.status, "%s%s", error.marked, accept.offer(feature::kConfig, "the names alone are asked").c_str());
  }
}

}  // namespace

SharedConfig::SharedConfig(const SafetensorsFile& file, const LoadAccept& accept, const LoadOptions& options)
    : given_(options.config) {
  if (given_ == nullptr) read_ = config_beside(file, accept);
}

std::string_view without_separator(const SafetensorsFile& file, std::string_view prefix) {
  constexpr std::string_view kSeparators = "./_";
  if (prefix.empty() || kSeparators.find(prefix.back()) == std::string_view::npos) return prefix;
  bool is_separator = false;
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    const std::string_view name = file.name(i);
    if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
    if (kSeparators.find(name[prefix.size()]) != std::string_view::npos) return prefix;
    is_separator = true;
  }
  return is_separator ? prefix.substr(0, prefix.size() - 1) : prefix;
}

}  // namespace heed
