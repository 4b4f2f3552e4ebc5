// SPDX-License-Identifier: Apache-2.0
// Writes zeros to elements of operands.
#pragma once

#include <array>
#include <cstdint>

#include "ops/operand.h"
#include "ops/sequence.h"

namespace heed::cpu {

using OperandIndex = std::array<int64_t, kOperandRank>;

// The offset of an element, in elements.
inline int64_t index_in(const Operand& operand, const OperandIndex& index) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < kOperandRank; ++axis) offset += index[axis] * operand.strides[axis];
  return offset;
}

// `count` elements along the last axis from `first` on.
void zero_elements(const Operand& operand, const OperandIndex& first, int64_t count);
// The first `size` elements of the rows of a range, along axis 2; `first`: element 0 of row 0.
void zero_rows(const Operand& operand, const OperandIndex& first, KeyRange rows, int64_t size);

}  // namespace heed::cpu
