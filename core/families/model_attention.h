// SPDX-License-Identifier: Apache-2.0
// What the attention of a model computes with its weights, by the model's file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/options.h"
#include "attention/relative_bias.h"
#include "attention/rope.h"
#include "families/model_rope.h"

namespace heed {

// How many keys a query sees on each side of its own position; negative: all.
struct ModelWindow {
  int64_t left = -1;
  int64_t right = -1;
};

// The norm of queries and keys.
struct ModelQkNorm {
  QkNorm kind = QkNorm::Rms;
  double epsilon = 0;  // 0: not known
  // The norm multiplies by 1 + weight: the parameter is the file's weight plus 1.
  bool adds_one = false;
};

// One attention of a model, as far as the file describes it.
struct ModelAttention {
  // Where this comes from, such as `model_type "llama" in config.json` or `the names of Hugging Face Llama`.
  std::string source;
  std::vector<UnsupportedFeature> unsupported;
  // Options that differ between models with these names and that the file does not say: names of namespace feature.
  std::vector<const char*> unknown;

  // The required values of the options. An empty one is not compared.
  std::optional<double> scale;
  std::optional<double> soft_cap;
  std::optional<ModelWindow> window;
  std::optional<int64_t> num_heads;
  std::optional<int64_t> num_kv_heads;
  std::optional<int64_t> head_size;
  std::optional<ModelRope> rope;  // empty if is_rotary is not true, or the numbers are not known
  std::optional<ModelQkNorm> qk_norm;
  std::optional<RelativeBiasOptions> relative_bias;  // a number of 0 is not known
  std::optional<AlibiUse> alibi;
  std::string rope_fault;                    // RopeReading::fault
  RotaryLayout layout = RotaryLayout::None;  // without `rope`; None: not known
  std::optional<bool> causal;
  std::optional<bool> is_rotary;
  std::optional<bool> sinks;

  // The configuration describes several models, and the attention may be in any of them: the layer has to fit one.
  bool is_one_of_several = false;
  // Bloom and Falcon have the same names: the one has ALiBi, the other ALiBi or rotary positions.
  bool is_alibi_or_rotary = false;
  // T5's self-attention, of an encoder or a decoder.
  bool has_relative_bias_of_a_side = false;

  // Adds a feature, once.
  void add(const UnsupportedFeature& feature) {
    const auto is_same = [&](const UnsupportedFeature& known) { return known.feature == feature.feature; };
    if (std::none_of(unsupported.begin(), unsupported.end(), is_same)) unsupported.push_back(feature);
  }
};

}  // namespace heed
