// SPDX-License-Identifier: Apache-2.0
// heed_concatenate: joins tensors along an axis.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace heed {

// At least one tensor. Throws InvalidArgument.
void concatenate(std::span<const Tensor> tensors, int32_t axis, const Tensor& result);

}  // namespace heed
