// SPDX-License-Identifier: Apache-2.0
// Norms of the last axis: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"
#include "ops/sequence.h"

namespace heed {

// The norm of a row x of d elements: x / sqrt(mean of x^2 + epsilon) * weight, or (x - mean of x) / sqrt(variance of x +
// epsilon) * weight + bias, with the biased variance, computed in two passes.
enum class NormKind : int32_t { None = 0, Rms = 1, Layer = 2 };

// output[..., i] = norm(input[..., :])[i] + addend[..., i], in f32. The last of the sizes is that of a row.
struct NormProblem {
  Op op = {OpKind{7}, sizeof(NormProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  ElementwiseOperand input;   // F32, F16, BF16
  ElementwiseOperand addend;  // F32, F16, BF16; optional
  ElementwiseOperand output;  // F32, F16, BF16
  Operand weight;             // axes (-, -, -, d); F32, F16, BF16
  Operand bias;               // axes (-, -, -, d); F32, F16, BF16; optional
  NormKind kind = NormKind::Layer;
  float epsilon = 0;
  // If the rows are the queries of an attention whose batch elements have lengths of their own, its limits: then the last
  // three sizes are batch, rows and d, the others are 1, and rows that are no queries become 0.
  int32_t has_limits = 0;
  int32_t unused = 0;
  KeyLimits limits;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, NormProblem>
void visit_operands(Problem& problem, Visit visit) {
  const int64_t d = problem.sizes[kElementwiseRank - 1];
  visit(problem.input, problem.sizes, Access::Read);
  visit(problem.addend, problem.sizes, Access::Read);
  visit(problem.weight, Sizes<kOperandRank>{1, 1, 1, d}, Access::Read);
  visit(problem.bias, Sizes<kOperandRank>{1, 1, 1, d}, Access::Read);
  visit(problem.output, problem.sizes, Access::Write);
}

// flops, for each element: a square and its sum, the division and the weight; with a mean its sum and the difference; and
// one for each of bias and addend.
inline Cost cost_of(const NormProblem& problem) {
  double flops = problem.kind == NormKind::Layer ? 6 : 4;
  flops += problem.bias.given + problem.addend.given;
  for (const int64_t size : problem.sizes) flops *= static_cast<double>(size);
  return {.flops = flops, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
