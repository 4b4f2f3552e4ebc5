// SPDX-License-Identifier: Apache-2.0
// An operand of a problem as the kernels take it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/kernels/attention.h"
#include "ops/operand.h"

namespace heed::cpu {

static_assert(kF32 == static_cast<int32_t>(DType::F32) && kF16 == static_cast<int32_t>(DType::F16) &&
              kBF16 == static_cast<int32_t>(DType::BF16) && kI32 == static_cast<int32_t>(DType::I32) &&
              kI64 == static_cast<int32_t>(DType::I64));

// Whether the `size` elements of the last axis do not lie side by side.
template <int rank>
bool is_strided(const StridedOperand<rank>& operand, int64_t size) {
  return operand.given != 0 && size > 1 && operand.strides[rank - 1] != 1;
}

// The same but for an operand that is repeated over the axis, which is read once.
template <int rank>
bool is_gathered(const StridedOperand<rank>& operand, int64_t size) {
  return is_strided(operand, size) && operand.strides[rank - 1] != 0;
}

// Set where it lies: a call has many, and copying what has just been written waits for memory.
inline void set_operand(KernelOperand& result, const Operand& operand) {
  result.data = operand.data;
  std::copy_n(operand.strides, kOperandRank, result.strides);
  result.element_type = static_cast<int32_t>(operand.dtype);
}

}  // namespace heed::cpu
