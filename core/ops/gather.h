// SPDX-License-Identifier: Apache-2.0
// Elements of an array that are chosen by indices along an axis: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// output[i] = input[i with the index of `axis` replaced by indices[i]] for each index i of `sizes`. Axes along which the indices
// are repeated have stride 0 there; axes that only they have, stride 0 in the input.
struct GatherProblem {
  Op op = {OpKind{14}, sizeof(GatherProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};  // of the output
  int64_t axis_size = 0;                                       // of the input's axis that is chosen from
  ElementwiseOperand input;    // any dtype; its stride of `axis` is that of the chosen axis
  ElementwiseOperand indices;  // I32, I64; from -axis_size to axis_size - 1
  ElementwiseOperand output;   // the input's dtype; shares no memory with the others
  int32_t axis = 0;
  int32_t unused = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, GatherProblem>
void visit_operands(Problem& problem, Visit visit) {
  Sizes<kElementwiseRank> chosen_from;
  for (int axis = 0; axis < kElementwiseRank; ++axis)
    chosen_from[axis] = axis == problem.axis ? problem.axis_size : problem.sizes[axis];
  visit(problem.input, chosen_from, Access::Read);
  visit(problem.indices, problem.sizes, Access::Read);
  visit(problem.output, problem.sizes, Access::Write);
}

// No FLOPs. bytes: the elements that are chosen, the indices and the output.
inline Cost cost_of(const GatherProblem& problem) {
  const double written = bytes_of(problem.output, problem.sizes);
  return {.flops = 0, .bytes = 2 * written + bytes_of(problem.indices, problem.sizes)};
}

}  // namespace heed
