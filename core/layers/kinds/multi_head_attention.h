// SPDX-License-Identifier: Apache-2.0
// Multi-head attention: three projections, attention over heads, and the projection of their concatenation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attention/options.h"
#include "attention/relative_bias.h"
#include "attention/rope.h"
#include "layers/kind_names.h"
#include "layers/kinds/attention_layer.h"
#include "layers/kinds/projection.h"
#include "layers/kinds/rotary_positions.h"
#include "ops/attention.h"
#include "ops/attention_backward.h"

namespace heed {

// Bits of MultiHeadAttentionOptions::biases, with the numbers of HEED_BIAS_.
enum BiasBits : int32_t { kBiasQ = 1, kBiasK = 2, kBiasV = 4, kBiasO = 8, kBiasAll = 15 };

// The members of heed_multi_head_attention_options; 0 means the default.
struct MultiHeadAttentionOptions {
  int64_t num_hiddens = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_size = 0;
  int64_t value_head_size = 0;
  int64_t output_size = 0;
  bool no_output_projection = false;
  int32_t biases = 0;
  Scoring scoring = Scoring::DotProduct;
  AttentionOptions attention;
  std::optional<RopeOptions> rope;
  RelativeBiasOptions relative_bias;
  float qk_norm_epsilon = 0;
  QkNorm qk_norm = QkNorm::Rms;
  bool sinks = false;
  AlibiUse alibi = AlibiUse::None;
  bool add_bias_kv = false;
  bool add_zero_attn = false;
};

// As a child of another layer it applies OutputValues::scale and addend, unless it has no output projection.
class MultiHeadAttention final : public AttentionLayer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  MultiHeadAttention(std::shared_ptr<Context> context, const MultiHeadAttentionOptions& options);

  const char* kind() const override { return kind_name::kMultiHeadAttention; }
  LayerDescription describe() const override;

 protected:
  int64_t check_inputs(const InputValues& inputs, OutputShapes& shapes) const override;
  const AttentionOptions& attention_options() const override { return options_.attention; }
  bool has_heads(const InputValues&) const override { return true; }
  void set_attention(const InputValues& inputs, AttentionProblem& problem) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;
  std::optional<CachedLayer> cached_layer() const override;
  PositionUse position_use() const override;

 private:
  // Options with all defaults filled in, and the parameters that they require.
  struct Resolved {
    MultiHeadAttentionOptions options;
    std::vector<Parameter> parameters;
  };
  static Resolved resolve(const MultiHeadAttentionOptions& given);
  MultiHeadAttention(std::shared_ptr<Context> context, Resolved resolved);

  // Of the projection with this weight, a row of the table.
  ProjectionParameters parameters_of(size_t weight) const;
  // The norm and the rotation of each head, without operands.
  HeadTransform head_transform() const;
  // Sets what the layer itself adds to scores and softmax: ALiBi, relative bias, sinks, constant keys.
  void set_score_terms(Schedule& schedule, AttentionProblem& problem) const;

  // Whether rotated elements stay in their places: the score's weights, the bias key and the keys in a cache are not reordered.
  bool keeps_order(bool has_cache) const {
    return options_.scoring == Scoring::Additive || options_.add_bias_kv || has_cache;
  }
  // Turns the gradient by transformed heads into that by the projection, in place. `norm`: the row of the norm's weight.
  void compose_transform_backward(size_t norm, Schedule& schedule, const LayerCall& call, const Value& of_heads) const;
  // Sets the gradients by the parameters that the attention itself reads.
  void set_parameter_sums(Schedule& schedule, const LayerCall& call, AttentionBackwardProblem& problem) const;

  // With all defaults filled in.
  MultiHeadAttentionOptions options_;
  std::unique_ptr<RotaryPositions> rotary_;
  HostVector<int32_t> relative_buckets_;
  // The slopes of options_.alibi, on the device.
  std::optional<Tensor> alibi_slopes_;
};

}  // namespace heed
