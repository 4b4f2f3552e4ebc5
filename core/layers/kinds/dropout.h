// SPDX-License-Identifier: Apache-2.0
// Dropout (Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", JMLR 15, 2014) in
// its inverted form: in training the kept elements are scaled up, so that without training the layer is the identity.
#pragma once

#include <memory>

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

// As a child of another layer it adds OutputValues::addend.
class Dropout final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  Dropout(std::shared_ptr<Context> context, const DropoutOptions& options);

  const char* kind() const override { return "dropout"; }

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override;
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void write_options(JsonWriter& json) const override;

 private:
  DropoutOptions options_;
};

}  // namespace heed
