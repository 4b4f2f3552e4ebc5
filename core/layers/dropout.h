// SPDX-License-Identifier: Apache-2.0
// Dropout (Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", JMLR 15, 2014) in its
// inverted form: what is kept is scaled in training, so that otherwise the layer is the identity.
#pragma once

#include <memory>

#include "layers/layer.h"

namespace heed {

// As in heed_dropout_options.
struct DropoutOptions {
  float dropout = 0;
};

class Dropout final : public Layer {
 public:
  // Throws InvalidArgument naming the member of `options`.
  Dropout(std::shared_ptr<Context> context, const DropoutOptions& options);

  const char* kind() const override { return "dropout"; }

 protected:
  CheckedInputs check(const LayerInputs& inputs, Purpose purpose) const override;
  void compose(const CheckedInputs& call, const LayerOutputs& outputs, Schedule& schedule) const override;

 private:
  DropoutOptions options_;
};

}  // namespace heed
