// SPDX-License-Identifier: Apache-2.0
// The first elements of a sorted axis: the problem, its operands and its cost.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// The first `num_wanted` elements of each row of the last axis in ascending or descending order, and where they were. NaN counts
// as the largest number, -0 equals 0, and equal elements keep their order.
struct SortProblem {
  Op op = {OpKind{13}, sizeof(SortProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};  // of the input
  int64_t num_wanted = 0;                                      // at most the last size
  ElementwiseOperand input;                                    // any dtype
  ElementwiseOperand values;   // the input's dtype; optional; may be the input with the same strides
  ElementwiseOperand indices;  // I64; optional
  int32_t descending = 0;
  int32_t unused = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, SortProblem>
void visit_operands(Problem& problem, Visit visit) {
  Sizes<kElementwiseRank> wanted;
  for (int axis = 0; axis < kElementwiseRank; ++axis) wanted[axis] = problem.sizes[axis];
  wanted[kElementwiseRank - 1] = problem.num_wanted;
  visit(problem.input, problem.sizes, Access::Read);
  visit(problem.values, wanted, Access::Write);
  visit(problem.indices, wanted, Access::Write);
}

// flops: one comparison for each element and each halving of a row.
inline Cost cost_of(const SortProblem& problem) {
  auto flops = static_cast<double>(std::bit_width(static_cast<uint64_t>(problem.sizes[kElementwiseRank - 1])));
  for (const int64_t size : problem.sizes) flops *= static_cast<double>(size);
  return {.flops = flops, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
