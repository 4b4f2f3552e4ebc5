// SPDX-License-Identifier: Apache-2.0
// Strided arrays that operations read or write.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace heed {

// The axes of operands of attention and softmax, and of linear operations, which use the last three.
inline constexpr int kOperandRank = 4;
// The axes of operands of elementwise operations, as many as a tensor may have.
inline constexpr int kElementwiseRank = 8;

// A strided array that an operation reads or writes. Strides are in elements; 0 repeats an axis.
template <int rank>
struct StridedOperand {
  // Null if not given, and in problems that are only planned.
  void* data = nullptr;
  int64_t strides[rank] = {};
  DType dtype = DType::F32;
  // 1 if the operand is given. Plans depend on this, never on `data`.
  int32_t given = 0;
};
using Operand = StridedOperand<kOperandRank>;
using ElementwiseOperand = StridedOperand<kElementwiseRank>;

// How an operation uses an operand.
enum class Access {
  Read,
  ReadOnHost,  // valid lengths, which are in host memory for every device
  Write,
  Update,  // reads what is there, and writes
};

// Of a gradient that is summed: whether the sum begins with what the operand holds.
constexpr Access access_of_sum(int32_t accumulates) { return accumulates != 0 ? Access::Update : Access::Write; }

template <int rank>
using Sizes = int64_t[rank];

}  // namespace heed
