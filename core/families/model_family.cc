// SPDX-License-Identifier: Apache-2.0
#include "families/model_family.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "families/configured_attention.h"
#include "families/families.h"
#include "families/model_settings.h"
#include "families/module_path.h"
#include "families/named_attention.h"
#include "families/rules.h"

namespace heed {
namespace {

// Whether `part` of a prefix names the module of the sub-configuration `model`, such as "text_config".
bool is_module_of(std::string_view part, std::string_view model) {
  constexpr struct {
    const char* configuration;
    const char* beginning;
  } kWords[] = {
      {"text", "text"},    {"text", "language"}, {"text", "llm"},     {"vision", "vision"}, {"vision", "visual"},
      {"vision", "image"}, {"audio", "audio"},   {"audio", "speech"}, {"llm", "language"},  {"language", "language"},
  };
  std::string_view stem = model.substr(model.rfind('.') + 1);
  constexpr std::string_view kEnding = "_config";
  if (stem.ends_with(kEnding)) stem.remove_suffix(kEnding.size());
  if (part == stem) return true;
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const auto& word) { return stem == word.configuration && part.starts_with(word.beginning); });
}

// The model_type of the model at this path of a configuration.
std::string_view type_of(const ModelConfig& config, const std::string& model) {
  return ModelSettings(config, model).text(Setting::ModelType);
}

bool is_known(const ModelConfig& config, const std::string& model) {
  return family_of(type_of(config, model)).is_known;
}

// The configured model that the path names; null: none.
const std::string* named_model(const ModelConfig& config, const ModulePath& path) {
  for (const std::string_view part : path.parts()) {
    for (const std::string& model : config.models()) {
      if (!model.empty() && is_module_of(part, model)) return &model;
    }
  }
  return nullptr;
}

// The configured models that may contain the attention, as paths in the configuration.
std::vector<std::string> models_of(const ModelConfig& config, const ModulePath& path) {
  const std::vector<std::string>& all = config.models();
  if (const std::string* const named = named_model(config, path)) return {*named};
  // If the family of the whole model is known, it takes precedence over its sub-models. Otherwise the attention may
  // belong to any sub-model of a known family.
  if (all.size() < 2 || is_known(config, all.front())) return {all.begin(), all.begin() + (all.empty() ? 0 : 1)};
  std::vector<std::string> known;
  std::copy_if(all.begin(), all.end(), std::back_inserter(known),
               [&](const std::string& model) { return is_known(config, model); });
  return known.empty() ? all : known;
}

}  // namespace

std::string unknown_model_type(std::string_view prefix, const std::optional<ModelConfig>& config) {
  if (!config || config->models().empty()) return "";
  std::span<const std::string> models = config->models();
  if (const std::string* const named = named_model(*config, ModulePath(prefix)))
    models = {named, 1};
  else if (models.size() == 1 || is_known(*config, models.front()))
    models = models.first(1);
  else if (models.front().empty())
    models = models.subspan(1);  // the parts of a model of its own
  const auto unknown =
      std::ranges::find_if(models, [&](const std::string& model) { return !is_known(*config, model); });
  return unknown == models.end() ? "" : std::string(type_of(*config, *unknown));
}

std::vector<ModelAttention> configured_attentions(std::string_view prefix, const std::optional<ModelConfig>& config,
                                                  int64_t head_size) {
  std::vector<ModelAttention> attentions;
  if (!config) return attentions;
  const ModulePath path(prefix);
  const std::vector<std::string> models = models_of(*config, path);
  for (const std::string& model : models) {
    attentions.push_back(configured_attention(*config, model, path, head_size));
    attentions.back().is_one_of_several = models.size() > 1;
  }
  return attentions;
}

std::vector<ModelAttention> model_attentions(const SafetensorsFile& file, std::string_view prefix,
                                             std::string_view layout_name, const std::optional<ModelConfig>& config,
                                             int64_t head_size) {
  std::vector<ModelAttention> attentions = configured_attentions(prefix, config, head_size);
  const ModulePath path(prefix);
  const std::vector<std::string> models = config ? models_of(*config, path) : std::vector<std::string>();
  // A known family says more than the tensors' names.
  const auto is_of_known = [&](const std::string& model) { return is_known(*config, model); };
  if (!models.empty() && std::ranges::all_of(models, is_of_known)) return attentions;
  ModelAttention named = named_attention(file, prefix, layout_name);
  if (!named.source.empty()) attentions.push_back(std::move(named));
  return attentions;
}

std::vector<ModelBlock> configured_blocks(std::string_view prefix, const std::optional<ModelConfig>& config) {
  std::vector<ModelBlock> blocks;
  if (!config) return blocks;
  for (const std::string& model : models_of(*config, ModulePath(prefix)))
    blocks.push_back(configured_block(*config, model));
  return blocks;
}

bool is_packing_known(std::string_view prefix, std::string_view module, const std::optional<ModelConfig>& config) {
  const ModulePath path(prefix);
  const std::vector<std::string> models = config ? models_of(*config, path) : std::vector<std::string>();
  if (!models.empty()) {
    return std::ranges::all_of(
        models, [&](const std::string& model) { return packs_in(family_of(type_of(*config, model)), module); });
  }
  return std::ranges::any_of(all_families(), [&](std::span<const Family> families) {
    return std::ranges::any_of(families, [&](const Family& family) { return packs_in(family, module, path); });
  });
}

std::optional<int64_t> first_row_of(std::string_view prefix, const std::optional<ModelConfig>& config) {
  if (!config) return std::nullopt;
  const std::vector<std::string> models = models_of(*config, ModulePath(prefix));
  if (models.size() != 1) return std::nullopt;
  const ModelSettings settings(*config, models.front());
  return first_row(family_of(settings.text(Setting::ModelType)), settings);
}

bool is_named_conv1d(std::string_view prefix) {
  const ModulePath path(prefix);
  return path.ends_with({"c_attn"}) || path.ends_with({"c_proj"}) || path.ends_with({"c_fc"}) ||
         path.ends_with({"q_attn"});
}

bool has_linear_modules(std::string_view prefix, const std::optional<ModelConfig>& config) {
  if (!config) return false;
  const std::vector<std::string> models = models_of(*config, ModulePath(prefix));
  return !models.empty() && std::all_of(models.begin(), models.end(), [&](const std::string& model) {
    const Family& family = family_of(type_of(*config, model));
    return family.is_known && !family.has_conv1d;
  });
}

}  // namespace heed
