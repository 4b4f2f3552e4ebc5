// SPDX-License-Identifier: Apache-2.0
// The rotation of pairs of elements by tables of cosines and sines: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// For each pair i of the first rotary_size elements of a row, x and y, with c = cosines[t, i] and s = sines[t, i]:
//   output x = x * c - y * s,   output y = x * s + y * c
// where t is the row's position, positions[b, s], or s without positions. The other elements are copied. Pair i has the elements
// 2 i and 2 i + 1 if is_interleaved is 1, otherwise i and i + rotary_size / 2. Computed in `compute`: each product, and each
// sum, is rounded by itself.
struct RotateProblem {
  Op op = {OpKind{16}, sizeof(RotateProblem)};
  int64_t batch = 0;          // b
  int64_t num_heads = 0;      // h
  int64_t length = 0;         // s
  int64_t row_size = 0;       // d
  int64_t rotary_size = 0;    // even, at most row_size
  int64_t num_positions = 0;  // t
  Operand input;              // axes (b, h, s, d); F32, F16, BF16, F64
  Operand cosines;            // axes (b, -, t, i); the same dtypes; stride 0 in b unless each batch element has its own
  Operand sines;              // likewise
  Operand positions;          // axes (b, -, s, -); I32, I64; from 0 to num_positions - 1; optional
  Operand output;             // axes (b, h, s, d); the same dtypes; may be the input with the same strides
  DType compute = DType::F32;  // F32, F64
  int32_t is_interleaved = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, RotateProblem>
void visit_operands(Problem& problem, Visit visit) {
  const Sizes<kOperandRank> rows = {problem.batch, problem.num_heads, problem.length, problem.row_size};
  const Sizes<kOperandRank> tables = {problem.batch, 1, problem.num_positions, problem.rotary_size / 2};
  visit(problem.input, rows, Access::Read);
  visit(problem.cosines, tables, Access::Read);
  visit(problem.sines, tables, Access::Read);
  visit(problem.positions, Sizes<kOperandRank>{problem.batch, 1, problem.length, 1}, Access::Read);
  visit(problem.output, rows, Access::Write);
}

// flops: four products and two sums for each pair.
inline Cost cost_of(const RotateProblem& problem) {
  const double num_rows =
      static_cast<double>(problem.batch) * static_cast<double>(problem.num_heads) * static_cast<double>(problem.length);
  return {.flops = 3 * num_rows * static_cast<double>(problem.rotary_size), .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
