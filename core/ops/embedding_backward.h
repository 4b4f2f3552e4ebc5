// SPDX-License-Identifier: Apache-2.0
// The gradient of the table of an embedding: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// table_gradient[id, :] = scale * the sum over all rows with this id, in row-major order, of output_gradient[..., :], in f32,
// and 0 where no row has the id; with `accumulates` the sums begin with what the table holds. The last of the sizes is that of
// a row.
struct EmbeddingBackwardProblem {
  Op op = {OpKind{21}, sizeof(EmbeddingBackwardProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  // The ids in row-major order of all axes but the last, each from 0 to num_table_rows - 1, or -1 for a row that adds nothing, in
  // host memory that lives until `run` returns. Null in problems that are only planned.
  const int32_t* ids = nullptr;
  int64_t num_table_rows = 0;
  ElementwiseOperand output_gradient;  // F32
  Operand table_gradient;              // axes (-, -, id, d); F32
  // Each row is multiplied by it, rounded, and added.
  float scale = 1;
  int32_t accumulates = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem. Where an operand lacks an axis, the size
// is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, EmbeddingBackwardProblem>
void visit_operands(Problem& problem, Visit visit) {
  visit(problem.output_gradient, problem.sizes, Access::Read);
  visit(problem.table_gradient, Sizes<kOperandRank>{1, 1, problem.num_table_rows, problem.sizes[kElementwiseRank - 1]},
        access_of_sum(problem.accumulates));
}

// flops: an addition for each element, and with a scale a multiplication.
inline Cost cost_of(const EmbeddingBackwardProblem& problem) {
  double flops = problem.scale == 1 ? 1 : 2;
  for (const int64_t size : problem.sizes) flops *= static_cast<double>(size);
  return {.flops = flops, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
