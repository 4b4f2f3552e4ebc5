// SPDX-License-Identifier: Apache-2.0
// Elements and slices of a tensor that are chosen by indices, and tensors that are joined.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace heed {

// heed_gather.
void gather(const Tensor& tensor, const Tensor& indices, int32_t axis, const Tensor& result);

// heed_take.
void take(const Tensor& tensor, const Tensor& indices, int32_t axis, const Tensor& result);

}  // namespace heed
