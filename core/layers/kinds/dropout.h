// SPDX-License-Identifier: Apache-2.0
// Dropout (Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", JMLR 15, 2014) in
// its inverted form: in training the kept elements are scaled up, so that without training the layer is the identity.
#pragma once

#include <cstdint>
#include <memory>

#include "layers/kind_names.h"
#include "layers/layer.h"
#include "ops/dropout.h"

namespace heed {

// The members of heed_dropout_options.
struct DropoutOptions {
  float dropout = 0;
};

// Adds the dropout of all elements of `input` to the schedule.
DropoutProblem& add_dropout(Schedule& schedule, const char* operation, const Value& input, const Value& output,
                            uint64_t seed, float dropout);

// The same plus the addend, which has the output's shape and may be its memory. `dropout` is not 0.
DropoutProblem& add_dropout(Schedule& schedule, const char* operation, const Value& input, const Value& output,
                            const Value& addend, uint64_t seed, float dropout);

// As a child of another layer it adds OutputValues::addend.
class Dropout final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  Dropout(std::shared_ptr<Context> context, const DropoutOptions& options);

  const char* kind() const override { return kind_name::kDropout; }

 protected:
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;

 private:
  float dropout_of(const LayerCall& call) const { return call.training.is_on ? options_.dropout : 0.0f; }

  DropoutOptions options_;
};

}  // namespace heed
