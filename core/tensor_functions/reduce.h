// SPDX-License-Identifier: Apache-2.0
// Reductions of tensors along axes.
#pragma once

#include <cstdint>

#include "ops/reduce.h"
#include "tensor/tensor.h"

namespace heed {

// heed_reduce.
void reduce(Reduction reduction, const Tensor& tensor, int32_t axis, const Tensor& result);

// heed_reduce_axes; axes null: all.
void reduce_axes(Reduction reduction, const Tensor& tensor, const int32_t* axes, int32_t num_axes,
                 const Tensor& result);

}  // namespace heed
