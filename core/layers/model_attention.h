// SPDX-License-Identifier: Apache-2.0
// What an attention computes with its weights, by a layer's options and by a model's file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/options.h"

namespace heed {

// The layer's side of the comparison with the model in a file.
struct LayerAttention {
  // False for layers that do not attend and for additive scores: no known model computes either.
  bool is_multi_head = false;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_size = 0;
  // A scale of 0 means 1 / sqrt(head_size).
  AttentionOptions options;
};

// Something that the model computes and heed has no option for.
struct UnsupportedFeature {
  // The name in `accept`: one of namespace feature.
  const char* feature = nullptr;
  // The words for messages, such as "rotary positions".
  const char* text = nullptr;
};

// How many keys a query sees on each side of its own position; negative: all.
struct ModelWindow {
  int64_t left = -1;
  int64_t right = -1;
};

// One attention of a model, as far as the file describes it.
struct ModelAttention {
  // Where this comes from, such as `model_type "llama" in config.json` or `the names of Hugging Face Llama`.
  std::string source;
  // The configuration describes several models, and the attention may be in any of them: the layer has to fit one.
  bool is_one_of_several = false;
  std::vector<UnsupportedFeature> unsupported;

  // The required values of the options. An empty one is not compared.
  std::optional<bool> causal;
  std::optional<double> scale;
  std::optional<double> soft_cap;
  std::optional<ModelWindow> window;
  std::optional<int64_t> num_heads;
  std::optional<int64_t> num_kv_heads;
  std::optional<int64_t> head_size;

  // Options that differ between models with these names and that the file does not say: names of namespace feature.
  std::vector<const char*> unknown;
};

}  // namespace heed
