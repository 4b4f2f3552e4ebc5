// SPDX-License-Identifier: Apache-2.0
// A tensor as an operand of an operation.
#pragma once

#include <cstdint>

#include "ops/operand.h"
#include "tensor/tensor.h"

namespace heed {

// Makes the tensor an operand. axes[i] is the tensor's axis for axis i of the operand; -1: repeated, with stride 0.
// Axes of size 1 get stride 0 too, since their own stride has no meaning. The operand is written in place: copying a
// struct that was just written stalls on store forwarding.
template <int rank>
void set_operand(StridedOperand<rank>& operand, const Tensor& tensor, const int32_t (&axes)[rank]) {
  operand.data = tensor.data();
  operand.dtype = tensor.dtype();
  operand.given = 1;
  for (int i = 0; i < rank; ++i) {
    const int32_t axis = axes[i];
    operand.strides[i] = axis < 0 || tensor.dim(axis) == 1 ? 0 : tensor.stride(axis);
  }
}

}  // namespace heed
