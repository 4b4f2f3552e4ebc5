// SPDX-License-Identifier: Apache-2.0
#include "families/model_family.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "families/configured_attention.h"
#include "families/family_table.h"
#include "families/model_settings.h"
#include "families/module_path.h"
#include "families/named_attention.h"

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
  return config.text(model.empty() ? "model_type" : model + ".model_type").value_or("");
}

// The configured models that may contain the attention, as paths in the configuration.
std::vector<std::string> models_of(const ModelConfig& config, const ModulePath& path) {
  const std::vector<std::string>& all = config.models();
  for (const std::string_view part : path.parts()) {
    for (const std::string& model : all) {
      if (!model.empty() && is_module_of(part, model)) return {model};
    }
  }
  // If the family of the whole model is known, it takes precedence over its sub-models. Otherwise the attention may
  // belong to any sub-model of a known family.
  const auto is_known = [&](const std::string& model) { return family_of(type_of(config, model)) != nullptr; };
  if (all.size() < 2 || is_known(all.front())) return {all.begin(), all.begin() + (all.empty() ? 0 : 1)};
  std::vector<std::string> known;
  std::copy_if(all.begin(), all.end(), std::back_inserter(known), is_known);
  return known.empty() ? all : known;
}

// The families that pack as the layout with this module says, and the paths of their attentions: the list of layers, the
// layer's index, the attention.
constexpr struct {
  std::string_view module;
  std::string_view model_type;
  std::string_view list;
  std::string_view attention;
} kPackers[] = {
    {"query_key_value", "bloom", "h", "self_attention"},
    {"query_key_value", "falcon", "h", "self_attention"},
    {"query_key_value", "gpt_neox", "layers", "attention"},
    {"qkv_proj", "phi3", "layers", "self_attn"},
    {"Wqkv", "mpt", "blocks", "attn"},
    {"Wqkv", "modernbert", "layers", "attn"},
};

}  // namespace

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
                                             std::string_view title, const std::optional<ModelConfig>& config,
                                             int64_t head_size) {
  std::vector<ModelAttention> attentions = configured_attentions(prefix, config, head_size);
  const ModulePath path(prefix);
  const std::vector<std::string> models = config ? models_of(*config, path) : std::vector<std::string>();
  const bool is_known = !models.empty() && std::all_of(models.begin(), models.end(), [&](const std::string& model) {
    return family_of(type_of(*config, model)) != nullptr;
  });
  // A known family says more than the tensors' names.
  if (is_known) return attentions;
  ModelAttention named = named_attention(file, prefix, title);
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
  return std::any_of(std::begin(kPackers), std::end(kPackers), [&](const auto& packer) {
    if (module != packer.module) return false;
    if (models.empty()) return path.ends_with({packer.list, "#", packer.attention});
    return std::all_of(models.begin(), models.end(),
                       [&](const std::string& model) { return type_of(*config, model) == packer.model_type; });
  });
}

std::optional<int64_t> first_row_of(std::string_view prefix, const std::optional<ModelConfig>& config) {
  if (!config) return std::nullopt;
  const std::vector<std::string> models = models_of(*config, ModulePath(prefix));
  if (models.size() != 1) return std::nullopt;
  const ModelSettings settings(*config, models.front());
  const std::string_view type = settings.text("model_type");
  constexpr std::string_view kTwo[] = {"bart", "mbart", "opt", "plbart"};
  constexpr std::string_view kAfterPadding[] = {"camembert",   "data2vec-text",  "ibert",
                                                "longformer",  "mpnet",          "roberta",
                                                "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm"};
  constexpr std::string_view kZero[] = {"albert", "bert", "clip_text_model", "distilbert", "electra",
                                        "gpt2",   "vit",  "whisper"};
  const auto is_in = [&](const auto& list) {
    return std::find(std::begin(list), std::end(list), type) != std::end(list);
  };
  if (is_in(kTwo)) return 2;
  if (is_in(kAfterPadding)) {
    if (settings.number("pad_token_id") == 0) return 1;
    return settings.is_left_out("pad_token_id") ? 2 : settings.count({"pad_token_id"}).value_or(1) + 1;
  }
  if (is_in(kZero)) return 0;
  return std::nullopt;
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
    const Family* family = family_of(type_of(*config, model));
    return family != nullptr && !family->has_conv1d;
  });
}

}  // namespace heed
