// SPDX-License-Identifier: Apache-2.0
// Multi-head attention: three projections, attention over heads, and the projection of their concatenation.
#pragma once

#include "attention/options.h"
#include "layers/layer.h"

namespace heed {

// Bits of MultiHeadAttentionOptions::biases; same numbers as HEED_BIAS_.
enum BiasBits : int32_t { kBiasQ = 1, kBiasK = 2, kBiasV = 4, kBiasO = 8, kBiasAll = 15 };

// As in heed_multi_head_attention_options, where 0 means the default.
struct MultiHeadAttentionOptions {
  int64_t num_hiddens = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_size = 0;
  int64_t value_head_size = 0;
  int64_t output_size = 0;
  bool no_output_projection = false;
  int32_t biases = 0;
  AttentionOptions attention;
};

class MultiHeadAttention final : public Layer {
 public:
  // Throws InvalidArgument naming the member of `options`.
  MultiHeadAttention(std::shared_ptr<Context> context, const MultiHeadAttentionOptions& options);

  const char* kind() const override { return "multi_head_attention"; }

 protected:
  OutputShapes check_inputs(const LayerInputs& inputs) const override;
  void check_fit(const LayerInputs& inputs) const override;
  AttentionProblem attention_problem(const LayerInputs& inputs, Purpose purpose) const override;
  std::vector<Shape> parameter_shapes(const LayerInputs& inputs) const override;
  void compose(const LayerInputs& inputs, const LayerOutputs& outputs, Purpose purpose,
               Schedule& schedule) const override;
  const char* const* possible_parameters() const override;

 private:
  // Options with every default filled in.
  struct Resolved {
    MultiHeadAttentionOptions options;
  };
  MultiHeadAttention(std::shared_ptr<Context> context, const Resolved& resolved);

  // The weight and, where there is one, the bias of one projection.
  struct Projection {
    const Tensor* weight;
    const Tensor* bias;
  };

  // `letter` is that of the parameter's name: 'q', 'k', 'v' or 'o'.
  Projection projection(char letter) const;
  static void set_parameters(LinearProblem& linear, const Projection& projection);
  // Adds the projection of `input`, (B, S, E), and returns where in the workspace its result lies, (B, S, heads *
  // size) row-major.
  Intermediate project(Schedule& schedule, char letter, const Tensor& input) const;

  // Resolved.
  MultiHeadAttentionOptions options_;
};

}  // namespace heed
