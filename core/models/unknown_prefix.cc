// SPDX-License-Identifier: Apache-2.0
#include "models/unknown_prefix.h"

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/shown_text.h"
#include "families/module_path.h"
#include "models/model_options.h"

namespace heed {
namespace {

// `before`: what is before the name of a layer. Its end is the model's module in the file, as "bert." in "module.bert.".
std::string_view without_module(std::string_view before, std::string_view module) {
  for (; !module.empty(); module = without_first_module(module)) {
    const std::string ending = std::string(module) + ".";
    const bool is_its_end = before.ends_with(ending) &&
                            (before.size() == ending.size() || before[before.size() - ending.size() - 1] == '.');
    if (is_its_end) return before.substr(0, before.size() - ending.size());
  }
  return before;
}

// What is before the usual names of the model's tensors; "": nothing, or the file has no such names.
std::string_view prefix_in(const SafetensorsFile& file, const std::string& first_layer, const char* module) {
  const std::string inner = "." + first_layer + ".";
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    const std::string_view name = file.name(i);
    const size_t at = name.find(inner);
    if (at != std::string_view::npos) return without_module(name.substr(0, at + 1), module);
  }
  return {};
}

}  // namespace

void remove_unknown_prefix(SafetensorsFile& file, const ModelConfig& config, const Family& family) {
  const ModelOptions options(config, family, file);
  if (options.has_first_layer()) return;
  const std::string prefix(prefix_in(file, options.first_layer(""), family.layouts.base));
  if (prefix.empty()) return;
  // They are sorted.
  for (const std::string_view name : {file.name(0), file.name(file.num_tensors() - 1)}) {
    if (name.starts_with(prefix)) continue;
    fail(Status::NotFound,
         "%s has the layers of the model below %s, but %s is not below it: expected the names of a model of "
         "model_type \"%s\", or one prefix before all of them",
         in_quotes(file.path()).c_str(), in_quotes(prefix).c_str(), in_quotes(name).c_str(),
         std::string(family.model_types).c_str());
  }
  file.remove_prefix(prefix);
}

}  // namespace heed
