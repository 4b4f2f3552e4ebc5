// SPDX-License-Identifier: Apache-2.0
// What the code of each family of models computes, as far as its configuration does not say it. To support another
// family, add its model_type to a list in family_table.cc and to docs/weights.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "families/load_accept.h"
#include "families/model_rope.h"

namespace heed {

namespace unsupported {
inline constexpr UnsupportedFeature kAxes = {feature::kRotary, "rotary positions on several axes"};
inline constexpr UnsupportedFeature kRelativeBias = {feature::kRelativeBias,
                                                     "a bias of relative positions of another kind"};
inline constexpr UnsupportedFeature kQkNorm = {feature::kQkNorm, "norms of queries and keys of another kind"};
inline constexpr UnsupportedFeature kClipQkv = {feature::kClipQkv, "clipped queries, keys and values"};
inline constexpr UnsupportedFeature kAttention = {feature::kAttention, "scores or visible keys of another kind"};
}  // namespace unsupported

// When a family's self-attention is causal. Cross attention is never causal.
enum class CausalRule {
  Never,
  Always,
  InDecoder,  // if the prefix has a module "decoder"
  InText,     // if the prefix has a module "text_model"
  IfDecoder,  // if the configuration sets is_decoder, or XLM's `causal`
};

enum class ScaleRule {
  Usual,  // 1 / sqrt(head size), unless the configuration has another setting
  One,
  Gpt2,  // depends on scale_attn_weights and scale_attn_by_inverse_layer_idx
};

// How self-attention knows positions. The rest is in the configuration.
enum class PositionRule {
  Other,          // in the embeddings, or only the configuration says it
  RotaryHalf,     // with the pairs of HEED_ROPE_HALF
  RotaryInTurn,   // with those of HEED_ROPE_INTERLEAVED
  Rotary,         // with pairs that this table does not know
  Buckets,        // T5's bias
  Alibi,          // added to the scaled scores
  FalconsChoice,  // scaled ALiBi or rotary positions
};

// The norm of queries and keys, if the file has its weights.
enum class NormRule {
  Unknown,
  Rms,         // one weight for all heads
  RmsPlusOne,  // the same, and the norm multiplies by 1 + weight
  Layer,       // a layer norm with a weight for each head
};

struct Family {
  std::span<const char* const> model_types;
  CausalRule causal = CausalRule::Never;
  ScaleRule scale = ScaleRule::Usual;
  PositionRule positions = PositionRule::Other;
  // The modules that are linear in other families are Conv1D here, with weights (in, out).
  bool has_conv1d = false;
  // What every attention of the family computes that heed has no option for. Null if only the configuration says it.
  const UnsupportedFeature* unsupported = nullptr;
};

// The family of a model_type; null if heed does not know it.
const Family* family_of(std::string_view model_type);
// The norm of queries and keys in files of this model_type.
NormRule norm_rule_of(std::string_view model_type);

// What a setting is if the configuration leaves it out. The configuration of a model within another one has only the
// settings that differ from these.
struct FamilyDefaults {
  std::string_view model_type;
  int64_t window = 0;          // sliding_window, or local_attention; 0: none
  int64_t window_pattern = 0;  // sliding_window_pattern: the last of so many layers has no window; 0: all have one
  int64_t global_layers = 0;   // global_attn_every_n_layers: the first of so many layers has no window; 0: all have one
  int64_t max_window_layers = 0;            // the first layer with a window; 0: all have one
  double soft_cap = 0;                      // attn_logit_softcapping
  double output_soft_cap = 0;               // final_logit_softcapping
  double scale = 0;                         // attention_multiplier; 0: there is none
  double query_scalar = 0;                  // query_pre_attn_scalar; 0: the head size
  double norm_epsilon = 1e-6;               // rms_norm_eps
  bool needs_use_sliding_window = false;    // without use_sliding_window no layer has a window
  bool ignores_use_sliding_window = false;  // the class has no such setting
  bool ignores_max_window_layers = false;
};

const FamilyDefaults& defaults_of_family(std::string_view model_type);

}  // namespace heed
