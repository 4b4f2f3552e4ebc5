// SPDX-License-Identifier: Apache-2.0
// The rows of a table by their numbers: the problem, its operands and its cost.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// output[..., :] = table[id[...], :] * scale + addend[..., :], in f32. The last of the sizes is that of a row. Without an
// addend, -1 in place of an id gives a row of zeros if has_gaps is 1.
struct EmbeddingProblem {
  Op op = {OpKind{8}, sizeof(EmbeddingProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  // The ids in row-major order of all axes but the last, each from 0 to num_table_rows - 1, or -1, in host memory that lives until
  // `run` returns. Null in problems that are only planned.
  const int32_t* ids = nullptr;
  int64_t num_table_rows = 0;
  Operand table;  // axes (-, -, id, d); F32, F16, BF16; without data if packed_table is given
  // The table as the packed weight of a projection (LinearPart::packed) with num_table_rows outputs. Only for devices whose
  // is_host is 1. Null if the table is not packed, and in problems that are only planned.
  const void* packed_table = nullptr;
  ElementwiseOperand addend;  // F32, F16, BF16; optional; may be the output's memory
  ElementwiseOperand output;  // F32, F16, BF16
  // With 1 and no addend, rows of the table's dtype keep their bits.
  float scale = 1;
  int32_t has_gaps = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, EmbeddingProblem>
void visit_operands(Problem& problem, Visit visit) {
  visit(problem.table, Sizes<kOperandRank>{1, 1, problem.num_table_rows, problem.sizes[kElementwiseRank - 1]},
        Access::Read);
  visit(problem.addend, problem.sizes, Access::Read);
  visit(problem.output, problem.sizes, Access::Write);
}

// flops: one multiplication for each element, none with a scale of 1; and one addition of an addend. bytes: as many rows of
// the table as of the output, but at most the table.
inline Cost cost_of(const EmbeddingProblem& problem) {
  double rows = 1;
  for (int axis = 0; axis < kElementwiseRank - 1; ++axis) rows *= static_cast<double>(problem.sizes[axis]);
  const int64_t size = problem.sizes[kElementwiseRank - 1];
  const double row_bytes = static_cast<double>(size) * static_cast<double>(size_of(problem.table.dtype));
  const double table_rows = std::min(rows, static_cast<double>(problem.num_table_rows));
  const double flops = (problem.scale == 1 ? 0.0 : 1.0) + problem.addend.given;
  return {.flops = flops * rows * static_cast<double>(size),
          .bytes = table_rows * row_bytes + bytes_of(problem.addend, problem.sizes) +
                   bytes_of(problem.output, problem.sizes)};
}

}  // namespace heed
