// SPDX-License-Identifier: Apache-2.0
// A linear layer, y = x W^T + b, over the last axis of its input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "layers/kind_names.h"
#include "layers/layer.h"

namespace heed {

// The members of heed_linear_options.
struct LinearOptions {
  int64_t output_size = 0;
  bool no_bias = false;
  // Of a stack's output (OutputOptions).
  float scale = 1;
  float soft_cap = 0;
};

class Linear final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  Linear(std::shared_ptr<Context> context, const LinearOptions& options);
  // With the table of an embedding, which is a projection's weight (EmbeddingOptions::is_tied), in place of a weight of its
  // own.
  Linear(std::shared_ptr<Context> context, const LinearOptions& options, const Parameter& table);

  const char* kind() const override { return kind_name::kLinear; }
  LayerDescription describe() const override { return {.is_linear = true}; }

 protected:
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;

 private:
  const Parameter& weight() const { return table_ ? *table_ : parameter_at(0); }

  LinearOptions options_;
  // Shares the value of the embedding's parameter.
  std::optional<Parameter> table_;
};

}  // namespace heed
