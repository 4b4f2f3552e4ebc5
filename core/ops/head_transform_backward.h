// SPDX-License-Identifier: Apache-2.0
// The backward of what happens to each head of a projection: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/head_transform.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// From the gradient by the result of HeadTransform that by its input. First the rotation's transpose is applied, then the backward of
// the norm, which computes the norm's statistics again. Elements of `output_gradient` are in the order in which the transform stores
// them, those of `sum_gradient` in the order in which the projection does.
//
// norm_weight_gradient[h, d] = the sum over the rows (s, r) in row-major order, and within a row over the heads that share the weight,
// of the gradient behind the norm times the normalized element, in f32. With `accumulates` it begins with what the array holds.
//
// A head whose output_gradient is 0 in all d adds nothing and gets 0, whatever `sum` holds.
struct HeadTransformBackwardProblem {
  Op op = {OpKind{22}, sizeof(HeadTransformBackwardProblem)};
  int64_t batch = 0;      // s
  int64_t rows = 0;       // r
  int64_t num_heads = 0;  // h
  int64_t head_size = 0;  // d
  HeadTransform transform;
  Operand output_gradient;       // axes (h, s, r, d); F32
  Operand sum;                   // axes (h, s, r, d); F32; given iff there is a norm: what the transform read
  Operand sum_gradient;          // axes (h, s, r, d); F32; may be the output's gradient
  Operand norm_weight_gradient;  // axes (h, -, -, d), with stride 0 where heads share it; F32; optional
  int32_t accumulates = 0;
  int32_t unused = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, HeadTransformBackwardProblem>
void visit_operands(Problem& problem, Visit visit) {
  const int64_t h = problem.num_heads;
  const int64_t s = problem.batch;
  const int64_t r = problem.rows;
  const int64_t d = problem.head_size;
  visit(problem.output_gradient, Sizes<kOperandRank>{h, s, r, d}, Access::Read);
  visit(problem.sum, Sizes<kOperandRank>{h, s, r, d}, Access::Read);
  visit(problem.transform.norm_weight, Sizes<kOperandRank>{h, 1, 1, d}, Access::Read);
  visit(problem.transform.rotations, Sizes<kOperandRank>{1, s, r, problem.transform.rotary_size}, Access::Read);
  visit(problem.sum_gradient, Sizes<kOperandRank>{h, s, r, d}, Access::Write);
  visit(problem.norm_weight_gradient, Sizes<kOperandRank>{h, 1, 1, d}, access_of_sum(problem.accumulates));
}

// flops, for each element: three of a rotation, ten of a norm, two of the sum of its weight.
inline Cost cost_of(const HeadTransformBackwardProblem& problem) {
  const double elements = static_cast<double>(problem.batch) * static_cast<double>(problem.rows) *
                          static_cast<double>(problem.num_heads) * static_cast<double>(problem.head_size);
  double flops = problem.transform.layout == RotaryLayout::None ? 0 : 3;
  if (problem.transform.norm != NormKind::None) flops += 10 + 2 * problem.norm_weight_gradient.given;
  return {.flops = elements * flops, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
