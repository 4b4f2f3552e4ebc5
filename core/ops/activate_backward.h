// SPDX-License-Identifier: Apache-2.0
// The gradients of what a linear operation does to its sums: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/activation.h"
#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// Of output = activation(cap(sum * scale)) * factor, as LinearPart has it: sum_gradient = output_gradient * factor * the derivative
// of the rest, factor_gradient = output_gradient * activation(cap(sum * scale)), in f32. The derivative of ReLU is 0 at 0, and 1 at
// NaN. An element whose output_gradient is 0 gets 0, whatever the others are.
struct ActivateBackwardProblem {
  Op op = {OpKind{20}, sizeof(ActivateBackwardProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  ElementwiseOperand output_gradient;  // F32
  ElementwiseOperand sum;              // F32
  ElementwiseOperand factor;           // F32; optional
  ElementwiseOperand sum_gradient;     // F32; optional; may be the output's gradient
  ElementwiseOperand factor_gradient;  // F32; optional
  Activation activation = Activation::None;
  float scale = 1;
  float soft_cap = 0;  // 0: none
  int32_t unused = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, ActivateBackwardProblem>
void visit_operands(Problem& problem, Visit visit) {
  visit(problem.output_gradient, problem.sizes, Access::Read);
  visit(problem.sum, problem.sizes, Access::Read);
  visit(problem.factor, problem.sizes, Access::Read);
  visit(problem.sum_gradient, problem.sizes, Access::Write);
  visit(problem.factor_gradient, problem.sizes, Access::Write);
}

// flops, for each element: the activation, about as many for its derivative, and the products.
inline Cost cost_of(const ActivateBackwardProblem& problem) {
  double flops = 2 * flops_of(problem.activation) + 1 + (problem.soft_cap > 0 ? 5 : 0) + 2 * problem.factor.given;
  for (const int64_t size : problem.sizes) flops *= static_cast<double>(size);
  return {.flops = flops, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
