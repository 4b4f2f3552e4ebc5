// SPDX-License-Identifier: Apache-2.0
// A strided array that an operation reads or writes.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace heed {

// Axes of an operand of attention and softmax, and of a linear operation (which uses the last three).
inline constexpr int kOperandRank = 4;
// Axes of an operand that is seen element by element: those of any tensor.
inline constexpr int kElementwiseRank = 8;

// A strided array that an operation reads or writes. Strides are in elements, 0 where an axis is repeated.
template <int rank>
struct StridedOperand {
  // Null when not given, and in problems that are only planned.
  void* data = nullptr;
  int64_t strides[rank] = {};
  DType dtype = DType::F32;
  // 1 when the operand takes part. Plans depend on it, never on data.
  int32_t given = 0;
};
using Operand = StridedOperand<kOperandRank>;
using ElementwiseOperand = StridedOperand<kElementwiseRank>;

// How an operation uses an operand.
enum class Access {
  Read,
  ReadOnHost,  // valid lengths, which are in the host's memory on every device
  Write,
};

template <int rank>
using Sizes = int64_t[rank];

}  // namespace heed
