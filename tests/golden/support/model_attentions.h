// SPDX-License-Identifier: Apache-2.0
// The attentions of the models in data/models, each with the options that give the model's numbers.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

namespace heed::golden {

inline constexpr int32_t kNoBiases = HEED_BIAS_NONE;
inline constexpr int32_t kAll = HEED_BIAS_ALL;

// The options of a layer. `of_rope` counts if it has a layout.
struct Options {
  heed_multi_head_attention_options of_layer = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_rope_options of_rope = HEED_ROPE_OPTIONS_INIT;

  // Valid as long as this object.
  heed_multi_head_attention_options& bound() {
    of_layer.rope = of_rope.layout == 0 ? nullptr : &of_rope;
    return of_layer;
  }
};

// The sizes that a program would set after reading config.json.
heed_multi_head_attention_options sizes_of(const std::string& family, bool is_decoder, int32_t biases, bool causal);

// An attention of a model.
struct ModelAttention {
  const char* family;
  const char* prefix;
  // The beginning of its tensors' names in cases.safetensors.
  const char* cases = "layer0.attention";
  int32_t biases = kAll;
  bool causal = false;
  bool is_decoder = false;
  float scale = 0;
  // Sets the options that models of 2017 do not have.
  void (*set)(Options& options) = nullptr;

  bool is_cross() const { return std::string(cases).find("cross") != std::string::npos; }
  Options options() const;
};

// Names the attention in messages of tests.
std::ostream& operator<<(std::ostream& stream, const ModelAttention& attention);

// Such as "t5_encoder_layer0_attention": the attention in names of tests.
std::string name_of(const ModelAttention& attention);

std::span<const ModelAttention> model_attentions();
// Not among model_attentions: its numbers follow another rule, which ScaledAlibi tests.
ModelAttention falcon_with_alibi();
// Layer 0 of a model with Llama's names.
ModelAttention of_llama(const char* family, void (*set)(Options&), int32_t biases = kNoBiases);

inline constexpr const char* kLlamaPrefix = "model.layers.0.self_attn";
inline constexpr const char* kFalconPrefix = "transformer.h.0.self_attention";

// Options of several models, which ModelAttention::set may be.
void set_half(Options& options);
void set_qwen3(Options& options);
void set_gemma3(Options& options);
void set_buckets(Options& options);
void set_buckets_one_way(Options& options);

}  // namespace heed::golden
