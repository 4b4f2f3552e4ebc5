// SPDX-License-Identifier: Apache-2.0
// Attention with the general score of Luong, Pham and Manning ("Effective Approaches to Attention-based Neural Machine
// Translation", 2015, arXiv 1508.04025, section 3.1): score = q . (W k). Values are averaged without a projection.
#pragma once

#include <cstdint>
#include <memory>

#include "attention/options.h"
#include "layers/kind_names.h"
#include "layers/kinds/attention_layer.h"
#include "ops/attention.h"

namespace heed {

// The members of heed_general_attention_options.
struct GeneralAttentionOptions {
  int64_t query_size = 0;
  AttentionOptions attention;  // a scale of 0 means 1
};

class GeneralAttention final : public AttentionLayer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  GeneralAttention(std::shared_ptr<Context> context, const GeneralAttentionOptions& options);

  const char* kind() const override { return kind_name::kGeneralAttention; }

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
  GeneralAttentionOptions options_;
};

}  // namespace heed
