// SPDX-License-Identifier: Apache-2.0
// A reduction of the elements along some axes of an array: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// The numbers are those of HEED_REDUCE_...; capi/src asserts it. heed.h has the formulas.
enum class Reduction : int32_t { Sum, Mean, Max, Min, Prod, Norm, ArgMax, ArgMin };
inline constexpr int32_t kNumReductions = 8;

// output[i] = reduction of input[i, k] over all k, where i are the first axes and k, in row-major order, the last
// `num_reduced` ones. Elements are converted to `compute`, and combined in an order that depends on the number of k alone: element
// k goes to lane k % 16 of its block of 256, the lanes of a block are combined by halves, and blocks are combined pairwise.
struct ReduceProblem {
  Op op = {OpKind{11}, sizeof(ReduceProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  ElementwiseOperand input;   // any dtype
  ElementwiseOperand output;  // any dtype; strides 0 on axes that are reduced; shares no memory with the input
  Reduction reduction = Reduction::Sum;
  int32_t num_reduced = 0;     // 1 or more
  DType compute = DType::F32;  // F32, F64, I64; F64 for the norm
  int32_t unused = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, ReduceProblem>
void visit_operands(Problem& problem, Visit visit) {
  visit(problem.input, problem.sizes, Access::Read);
  Sizes<kElementwiseRank> kept;
  for (int axis = 0; axis < kElementwiseRank; ++axis)
    kept[axis] = axis < kElementwiseRank - problem.num_reduced ? problem.sizes[axis] : 1;
  visit(problem.output, kept, Access::Write);
}

// flops: one for each element, two for the norm.
inline Cost cost_of(const ReduceProblem& problem) {
  double flops = problem.reduction == Reduction::Norm ? 2 : 1;
  for (const int64_t size : problem.sizes) flops *= static_cast<double>(size);
  return {.flops = flops, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
