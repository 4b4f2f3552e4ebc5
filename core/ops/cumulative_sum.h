// SPDX-License-Identifier: Apache-2.0
// The sums of all elements up to each one along an axis: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// output[i, k] = input[i, 0] + ... + input[i, k] along the last axis k, added in this order in `compute`.
struct CumulativeSumProblem {
  Op op = {OpKind{12}, sizeof(CumulativeSumProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  ElementwiseOperand input;    // any dtype
  ElementwiseOperand output;   // any dtype; may be the input with the same strides, otherwise shares no memory with it
  DType compute = DType::F32;  // F32, F64, I64
  int32_t unused = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, CumulativeSumProblem>
void visit_operands(Problem& problem, Visit visit) {
  visit(problem.input, problem.sizes, Access::Read);
  visit(problem.output, problem.sizes, Access::Write);
}

inline Cost cost_of(const CumulativeSumProblem& problem) {
  double flops = 1;
  for (const int64_t size : problem.sizes) flops *= static_cast<double>(size);
  return {.flops = flops, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
