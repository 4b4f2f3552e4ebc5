// SPDX-License-Identifier: Apache-2.0
// Rows of a table that are added to rows of an array by their positions: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"
#include "ops/sequence.h"

namespace heed {

// output[s, r, d] = input[s, r, d] + table[first_row + position of row r of s][d], added in f32 and rounded once. Rows are
// the queries of `limits` (position_of_query).
struct PositionsProblem {
  Op op = {OpKind{6}, sizeof(PositionsProblem)};
  int64_t batch = 0;
  KeyLimits limits;
  int64_t size = 0;  // d
  int64_t num_table_rows = 0;
  int64_t first_row = 0;
  Operand table;   // axes (-, -, row, d); F32, F16, BF16
  Operand input;   // axes (-, s, r, d); F32, F16, BF16
  Operand output;  // axes (-, s, r, d); F32, F16, BF16; shares no memory with the input
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, PositionsProblem>
void visit_operands(Problem& problem, Visit visit) {
  const int64_t b = problem.batch;
  const int64_t rows = num_query_rows(problem.limits, b);
  visit(problem.limits.positions, Sizes<kOperandRank>{b, 1, rows, 1}, Access::ReadOnHost);
  visit(problem.table, Sizes<kOperandRank>{1, 1, problem.num_table_rows, problem.size}, Access::Read);
  visit(problem.input, Sizes<kOperandRank>{1, b, rows, problem.size}, Access::Read);
  visit(problem.output, Sizes<kOperandRank>{1, b, rows, problem.size}, Access::Write);
}

// flops: one addition for each element. bytes: the table's rows that the sizes say.
inline Cost cost_of(const PositionsProblem& problem) {
  const double rows = num_queries_of_batch(problem.limits, problem.batch);
  return {.flops = rows * static_cast<double>(problem.size), .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
