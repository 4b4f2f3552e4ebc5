// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention without projections; its inputs have a head axis (rank 4) or none (rank 3).
#pragma once

#include <memory>

#include "attention/options.h"
#include "layers/kind_names.h"
#include "layers/kinds/attention_layer.h"
#include "ops/attention.h"

namespace heed {

class DotProductAttention : public AttentionLayer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  DotProductAttention(std::shared_ptr<Context> context, const AttentionOptions& options);

  const char* kind() const override { return kind_name::kDotProductAttention; }

 protected:
  int64_t check_inputs(const InputValues& inputs, OutputShapes& shapes) const override;
  const AttentionOptions& attention_options() const override { return options_; }
  bool has_heads(const InputValues& inputs) const override;
  void set_attention(const InputValues& inputs, AttentionProblem& problem) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;

 private:
  // Sets an operand of rows, (B, S, D) or (B, H, S, D), or packed without B.
  void set_rows(Schedule& schedule, Operand& operand, const Value& value, const InputValues& inputs) const;
  // The same of numbers of the queries' rows.
  void set_numbers(Schedule& schedule, Operand& operand, const Value& value, const InputValues& inputs) const;

  AttentionOptions options_;
};

// heed_scaled_dot_product_attention. Runs `forward` of a temporary layer on the stack. Scratch memory comes from the
// context's pool.
void scaled_dot_product_attention(std::shared_ptr<Context> context, const AttentionOptions& options,
                                  const LayerInputs& inputs, const LayerOutputs& outputs);

}  // namespace heed
