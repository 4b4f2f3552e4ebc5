// SPDX-License-Identifier: Apache-2.0
// Activations of the elements of a tensor.
#pragma once

#include "ops/activation.h"
#include "tensor/tensor.h"

namespace heed {

// heed_activation; not Activation::None.
void activate(const Tensor& tensor, Activation activation, const Tensor& result);

}  // namespace heed
