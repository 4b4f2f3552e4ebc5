// SPDX-License-Identifier: Apache-2.0
// What an attention computes from its weights: as a layer's options say it, and as a model's file says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/options.h"

namespace heed {

// Of a layer, for the comparison with a file's model.
struct LayerAttention {
  // False for layers that have weights and do not attend, and for those whose scores are no products: no model that is
  // known is theirs.
  bool is_multi_head = false;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_size = 0;
  // As the options are, where a scale of 0 is 1 / sqrt(head_size).
  AttentionOptions options;
};

// What heed has no option for.
struct Lack {
  // The name that `accept` takes: one of namespace feature.
  const char* feature = nullptr;
  // As sentences say it: "rotary positions".
  const char* text = nullptr;
};

// Keys that a query sees beside itself; negative: all.
struct ModelWindow {
  int64_t left = -1;
  int64_t right = -1;
};

// Of one attention of a model, so far as its file says it.
struct ModelAttention {
  // Who says so, as `model_type "llama" in config.json` or `the names of Hugging Face Llama`.
  std::string source;
  // The file is of several models, and it is open which of them this attention is of: the layer has to fit one.
  bool is_one_of_several = false;
  std::vector<Lack> lacks;

  // What the options have to be. Nothing is said of what is absent.
  std::optional<bool> causal;
  std::optional<double> scale;
  std::optional<double> soft_cap;
  std::optional<ModelWindow> window;
  std::optional<int64_t> num_heads;
  std::optional<int64_t> num_kv_heads;
  std::optional<int64_t> head_size;

  // Options that models with these names differ in, and that the file does not say: namespace feature.
  std::vector<const char*> unknown;
};

}  // namespace heed
