// SPDX-License-Identifier: Apache-2.0
// An activation of the elements of an array: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/activation.h"
#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// output[i] = activation(input[i]), in f32, or in f64 where both are F64, rounded once.
struct ActivateProblem {
  Op op = {OpKind{9}, sizeof(ActivateProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  ElementwiseOperand input;   // F32, F16, BF16, F64
  ElementwiseOperand output;  // F32, F16, BF16; F64 if the input is; shares no memory with the input
  Activation activation = Activation::None;
  int32_t unused = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, ActivateProblem>
void visit_operands(Problem& problem, Visit visit) {
  visit(problem.input, problem.sizes, Access::Read);
  visit(problem.output, problem.sizes, Access::Write);
}

inline Cost cost_of(const ActivateProblem& problem) {
  double flops = flops_of(problem.activation);
  for (const int64_t size : problem.sizes) flops *= static_cast<double>(size);
  return {.flops = flops, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
