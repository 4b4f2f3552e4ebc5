// SPDX-License-Identifier: Apache-2.0
// The gradients of a norm: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/norm.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// With x' the normalized elements of a row of NormProblem, whose statistics are computed again, f the factor by which they were
// multiplied, and t = output_gradient * weight:
//   input_gradient = f (t - mean(t) - x' mean(t x')) + addend, without mean(t) for an RMS norm
//   weight_gradient = the sum over rows of output_gradient * x', bias_gradient = that of output_gradient
// in f32. Each sum is one chain of additions in the row-major order of the rows; with `accumulates...` it begins with what the
// gradient holds. A row whose output_gradient is 0 in all elements adds nothing, and has the input_gradient 0, plus the addend,
// whatever its input is. The last of the sizes is that of a row.
struct NormBackwardProblem {
  Op op = {OpKind{19}, sizeof(NormBackwardProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  ElementwiseOperand output_gradient;  // F32
  ElementwiseOperand input;            // F32
  ElementwiseOperand addend;           // F32; optional; only with an input_gradient, whose memory it may be
  ElementwiseOperand input_gradient;   // F32; optional; shares no memory with the other operands
  Operand weight;                      // axes (-, -, -, d); F32, F16, BF16
  Operand weight_gradient;             // axes (-, -, -, d); F32; optional
  Operand bias_gradient;               // axes (-, -, -, d); F32; optional
  NormKind kind = NormKind::Layer;
  float epsilon = 0;
  int32_t accumulates_weight = 0;
  int32_t accumulates_bias = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, NormBackwardProblem>
void visit_operands(Problem& problem, Visit visit) {
  const int64_t d = problem.sizes[kElementwiseRank - 1];
  visit(problem.output_gradient, problem.sizes, Access::Read);
  visit(problem.input, problem.sizes, Access::Read);
  visit(problem.addend, problem.sizes, Access::Read);
  visit(problem.weight, Sizes<kOperandRank>{1, 1, 1, d}, Access::Read);
  visit(problem.input_gradient, problem.sizes, Access::Write);
  visit(problem.weight_gradient, Sizes<kOperandRank>{1, 1, 1, d}, access_of_sum(problem.accumulates_weight));
  visit(problem.bias_gradient, Sizes<kOperandRank>{1, 1, 1, d}, access_of_sum(problem.accumulates_bias));
}

// flops, for each element: those of the statistics, eight of the input's gradient, and two and one of the sums.
inline Cost cost_of(const NormBackwardProblem& problem) {
  double flops = problem.kind == NormKind::Layer ? 6 : 4;
  flops += 8 * problem.input_gradient.given + 2 * problem.weight_gradient.given + problem.bias_gradient.given;
  for (const int64_t size : problem.sizes) flops *= static_cast<double>(size);
  return {.flops = flops, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
