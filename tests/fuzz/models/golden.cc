// SPDX-License-Identifier: Apache-2.0
#include "fuzz/models/golden.h"

#include <algorithm>

#include "capi/support/files.h"
#include "capi/support/model_copy.h"

namespace heed::fuzz {
namespace {

using Json = nlohmann::json;

// Variants of models beside those of capi_test::every_model_of_any_input.
constexpr const char* kVariants[] = {"llama-rope-linear",      "llama-rope-llama3",  "llama-rope-yarn",
                                     "llama-rope-yarn-factor", "phi3-longrope-long", "phi3-longrope-short"};

// Settings that no model has, with values that change what a model computes.
constexpr const char* kFurtherSettings = R"({
  "quantization_config": {"bits": 4}, "rope_scaling": {"type": "yarn", "factor": 2.0}, "rope_theta": 100.0,
  "partial_rotary_factor": 0.5, "clip_qkv": 8.0, "position_embedding_type": "relative_key", "max_window_layers": 1,
  "sliding_window_pattern": 2, "add_final_layer_norm": true, "normalize_before": true, "normalize_embedding": false,
  "static_position_embeddings": true, "extra_pos_embeddings": 2, "global_rope_theta": 100.0, "local_rope_theta": 10.0,
  "rope_local_base_freq": 10.0, "dense_act_fn": "gelu_new", "is_gated_act": true, "scale_attn_by_inverse_layer_idx": true,
  "reorder_and_upcast_attn": true, "_remove_final_layer_norm": true, "tie_word_embeddings": "both", "num_hidden_groups": 2,
  "feed_forward_proj": "gated-gelu", "text_config": {"model_type": "llama", "num_attention_heads": 2}
})";

void add_values(const Json& settings, std::map<std::string, std::vector<Json>>& values) {
  const auto add = [&](const std::string& pointer, const Json& value) {
    std::vector<Json>& all = values[pointer];
    if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
  };
  const Json flat = settings.flatten();
  for (const auto& [pointer, value] : flat.items()) add(pointer, value);
  // Lists and objects as a whole.
  for (const auto& [name, value] : settings.items()) add("/" + name, value);
}

}  // namespace

const std::vector<GoldenModel>& golden_models() {
  static const std::vector<GoldenModel> models = [] {
    std::vector<std::string> names = capi_test::every_model_of_any_input();
    names.insert(names.end(), std::begin(kVariants), std::end(kVariants));
    std::sort(names.begin(), names.end());
    std::vector<GoldenModel> all;
    for (const std::string& name : names) {
      const std::string folder = capi_test::golden_model(name);
      all.push_back({name, Configuration(Json::parse(capi_test::read_file(folder + "/config.json"))),
                     WeightsFile(capi_test::read_file(folder + "/model.safetensors"))});
    }
    return all;
  }();
  return models;
}

const std::map<std::string, std::vector<Json>>& known_values() {
  static const std::map<std::string, std::vector<Json>> values = [] {
    std::map<std::string, std::vector<Json>> all;
    for (const GoldenModel& model : golden_models()) add_values(model.configuration.settings(), all);
    add_values(Json::parse(kFurtherSettings), all);
    return all;
  }();
  return values;
}

}  // namespace heed::fuzz
