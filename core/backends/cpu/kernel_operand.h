// SPDX-License-Identifier: Apache-2.0
// How the elements of an operand lie, and an operand of a linear problem as its kernels take it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/operand.h"

namespace heed::cpu {

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

// Written in place: copying a struct that was just written stalls on store forwarding.
inline void set_operand(Operand& result, const Operand& operand) {
  result.data = operand.data;
  std::copy_n(operand.strides, kOperandRank, result.strides);
  result.dtype = operand.dtype;
}

}  // namespace heed::cpu
