// SPDX-License-Identifier: Apache-2.0
// The minimal cost of an operation on any device. heed_layer_explain and the benchmarks report it.
#pragma once

#include "ops/operand.h"

namespace heed {

struct Cost {
  double flops = 0;  // multiplications, additions, and one for each tanh or exponential
  double bytes = 0;  // each operand counts once
};

// Bytes of an operand of these sizes; an axis of stride 0 counts once.
template <int rank>
double bytes_of(const StridedOperand<rank>& operand, const int64_t (&sizes)[rank]) {
  if (operand.given == 0) return 0;
  auto bytes = static_cast<double>(size_of(operand.dtype));
  for (int axis = 0; axis < rank; ++axis) {
    if (operand.strides[axis] != 0) bytes *= static_cast<double>(sizes[axis]);
  }
  return bytes;
}

// Bytes of all operands of a problem.
template <typename Problem>
double bytes_of_operands(const Problem& problem) {
  double bytes = 0;
  visit_operands(problem, [&](const auto& operand, const auto& sizes, Access) { bytes += bytes_of(operand, sizes); });
  return bytes;
}

}  // namespace heed
