// SPDX-License-Identifier: Apache-2.0
// A linear layer, y = x W^T + b, over the last axis of its input.
#pragma once

#include <cstdint>
#include <memory>

#include "layers/layer.h"

namespace heed {

// As in heed_linear_options.
struct LinearOptions {
  int64_t output_size = 0;
  bool no_bias = false;
};

class Linear final : public Layer {
 public:
  // Throws InvalidArgument naming the member of `options`.
  Linear(std::shared_ptr<Context> context, const LinearOptions& options);

  const char* kind() const override { return "linear"; }

 protected:
  CheckedInputs check(const LayerInputs& inputs, Purpose purpose) const override;
  void compose(const CheckedInputs& call, const LayerOutputs& outputs, Schedule& schedule) const override;

 private:
  LinearOptions options_;
};

}  // namespace heed
