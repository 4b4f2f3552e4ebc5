// SPDX-License-Identifier: Apache-2.0
// Layouts of operands, and a copy of an operand without `given`, which kernels do not read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/operand.h"

namespace heed::cpu {

// Whether the `size` elements of the last axis are not contiguous.
template <int rank>
bool is_noncontiguous(const StridedOperand<rank>& operand, int64_t size) {
  return operand.given != 0 && size > 1 && operand.strides[rank - 1] != 1;
}

// Whether the elements have to be gathered: they are not contiguous, and the axis is not repeated with stride 0.
template <int rank>
bool is_gathered(const StridedOperand<rank>& operand, int64_t size) {
  return is_noncontiguous(operand, size) && operand.strides[rank - 1] != 0;
}

// Written in place: copying a struct that was just written stalls on store forwarding.
inline void copy_operand(Operand& result, const Operand& operand) {
  result.data = operand.data;
  std::copy_n(operand.strides, kOperandRank, result.strides);
  result.dtype = operand.dtype;
}

}  // namespace heed::cpu
