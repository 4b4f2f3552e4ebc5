// SPDX-License-Identifier: Apache-2.0
// The position-wise feed-forward network: two linear operations with an activation between them, or three with a gate.
#pragma once

#include <cstdint>
#include <memory>

#include "layers/kind_names.h"
#include "layers/layer.h"
#include "ops/activation.h"

namespace heed {

// The members of heed_feed_forward_options; an output_size of 0 means the size of the input.
struct FeedForwardOptions {
  int64_t hidden_size = 0;
  int64_t output_size = 0;
  Activation activation = Activation::Relu;
  bool gated = false;
  bool no_bias = false;
  float dropout = 0;
};

// As a child of another layer it applies OutputValues::scale and addend.
class FeedForward final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  FeedForward(std::shared_ptr<Context> context, const FeedForwardOptions& options);

  const char* kind() const override { return kind_name::kFeedForward; }

 protected:
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;

 private:
  FeedForwardOptions options_;
};

}  // namespace heed
