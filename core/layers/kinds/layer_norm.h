// SPDX-License-Identifier: Apache-2.0
// A norm over the last axis of its input.
#pragma once

#include <memory>

#include "layers/kind_names.h"
#include "layers/layer.h"
#include "ops/norm.h"

namespace heed {

// The members of heed_layer_norm_options; an epsilon of 0 means the default.
struct LayerNormOptions {
  NormKind kind = NormKind::Layer;
  float epsilon = 0;
  bool no_bias = false;
};

// As a child of another layer it adds OutputValues::addend.
class LayerNorm final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  LayerNorm(std::shared_ptr<Context> context, const LayerNormOptions& options);

  const char* kind() const override { return kind_name::kLayerNorm; }
  LayerDescription describe() const override { return {.is_norm = true}; }

 protected:
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;

 private:
  LayerNormOptions options_;
};

// The epsilon, with its default filled in.
float epsilon_of(const LayerNormOptions& options);

}  // namespace heed
