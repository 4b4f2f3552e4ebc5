// SPDX-License-Identifier: Apache-2.0
// An operand of a problem as the kernels take it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/problem.h"
#include "backends/cpu/kernels/attention.h"

namespace heed::cpu {

static_assert(kF32 == static_cast<int32_t>(DType::F32) && kF16 == static_cast<int32_t>(DType::F16) &&
              kBF16 == static_cast<int32_t>(DType::BF16) && kI32 == static_cast<int32_t>(DType::I32) &&
              kI64 == static_cast<int32_t>(DType::I64));

// Set where it lies: a call has many, and copying what has just been written waits for memory.
inline void set_operand(KernelOperand& result, const Operand& operand) {
  result.data = operand.data;
  std::copy_n(operand.strides, kOperandRank, result.strides);
  result.element_type = static_cast<int32_t>(operand.dtype);
}

}  // namespace heed::cpu
