// SPDX-License-Identifier: Apache-2.0
// A linear layer, y = x W^T + b, over the last axis of its input.
#pragma once

#include <cstdint>
#include <memory>

#include "layers/layer.h"

namespace heed {

// The members of heed_linear_options.
struct LinearOptions {
  int64_t output_size = 0;
  bool no_bias = false;
};

class Linear final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  Linear(std::shared_ptr<Context> context, const LinearOptions& options);

  const char* kind() const override { return "linear"; }

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override;
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void write_options(JsonWriter& json) const override;

 private:
  LinearOptions options_;
};

}  // namespace heed
