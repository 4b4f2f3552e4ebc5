// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention without projections; its inputs have a head axis (rank 4) or none (rank 3).
#pragma once

#include <memory>

#include "attention/options.h"
#include "layers/kinds/attention_layer.h"
#include "ops/attention.h"

namespace heed {

class DotProductAttention : public AttentionLayer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  DotProductAttention(std::shared_ptr<Context> context, const AttentionOptions& options);

  const char* kind() const override { return "dot_product_attention"; }

 protected:
  int64_t check_inputs(const InputValues& inputs, OutputShapes& shapes) const override;
  void set_attention(const InputValues& inputs, bool reads_lengths, AttentionProblem& problem) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void write_options(JsonWriter& json) const override;

 private:
  AttentionOptions options_;
};

// heed_scaled_dot_product_attention. Runs `forward` of a temporary layer on the stack. Scratch memory comes from the
// context's pool.
void scaled_dot_product_attention(std::shared_ptr<Context> context, const AttentionOptions& options,
                                  const LayerInputs& inputs, const LayerOutputs& outputs);

}  // namespace heed
