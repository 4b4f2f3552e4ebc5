// SPDX-License-Identifier: Apache-2.0
// A function of the elements of up to three arrays: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/elementwise_functions.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

inline constexpr int kMaxFunctionInputs = 3;

// output[i] = function(inputs[0][i], ...), computed in `compute` and rounded once.
struct ElementwiseProblem {
  Op op = {OpKind{10}, sizeof(ElementwiseProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  // As many as the function has. Any dtype, converted to `compute`; the first one of Select is BOOL.
  ElementwiseOperand inputs[kMaxFunctionInputs];
  // Any dtype, converted from `compute`; BOOL for functions that give a truth value. May be an input with the same strides;
  // otherwise it shares no memory with one.
  ElementwiseOperand output;
  ElementFunction function = ElementFunction::Add;
  DType compute = DType::F32;  // F32, F64, I32, I64; U8 for truth values and for Select, which moves bytes
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, ElementwiseProblem>
void visit_operands(Problem& problem, Visit visit) {
  for (int i = 0; i < kMaxFunctionInputs; ++i) visit(problem.inputs[i], problem.sizes, Access::Read);
  visit(problem.output, problem.sizes, Access::Write);
}

inline Cost cost_of(const ElementwiseProblem& problem) {
  double flops = row_of(problem.function).flops;
  for (const int64_t size : problem.sizes) flops *= static_cast<double>(size);
  return {.flops = flops, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
