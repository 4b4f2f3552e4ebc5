// SPDX-License-Identifier: Apache-2.0
// Additive attention (Bahdanau et al., "Neural machine translation by jointly learning to align and translate", 2014,
// arXiv 1409.0473, appendix A.1.2): score = w_v . tanh(W_q q + W_k k). Values are averaged without a projection.
#pragma once

#include <cstdint>
#include <memory>

#include "attention/options.h"
#include "layers/kind_names.h"
#include "layers/kinds/attention_layer.h"
#include "ops/attention.h"

namespace heed {

// The members of heed_additive_attention_options.
struct AdditiveAttentionOptions {
  int64_t num_hiddens = 0;
  AttentionOptions attention;  // a scale of 0 means 1
};

class AdditiveAttention final : public AttentionLayer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  AdditiveAttention(std::shared_ptr<Context> context, const AdditiveAttentionOptions& options);

  const char* kind() const override { return kind_name::kAdditiveAttention; }

 protected:
  int64_t check_inputs(const InputValues& inputs, OutputShapes& shapes) const override;
  const AttentionOptions& attention_options() const override { return options_.attention; }
  bool has_heads(const InputValues&) const override { return false; }
  void set_attention(const InputValues& inputs, AttentionProblem& problem) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;

 private:
  // With all defaults filled in.
  AdditiveAttentionOptions options_;
};

}  // namespace heed
