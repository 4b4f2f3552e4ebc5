// SPDX-License-Identifier: Apache-2.0
#include "attention/cost.h"

#include <algorithm>
#include <cstdint>

#include "attention/operands.h"
#include "attention/visible_keys.h"

namespace heed {
namespace {

// Bytes of an operand of these sizes, where repeated axes count once.
template <int rank>
double bytes_of(const StridedOperand<rank>& operand, const int64_t (&sizes)[rank]) {
  if (operand.given == 0) return 0;
  auto bytes = static_cast<double>(size_of(operand.dtype));
  for (int axis = 0; axis < rank; ++axis) {
    if (operand.strides[axis] != 0) bytes *= static_cast<double>(sizes[axis]);
  }
  return bytes;
}

template <typename Problem>
double bytes_of_operands(const Problem& problem) {
  double bytes = 0;
  visit_operands(problem, [&](const auto& operand, const auto& sizes, Access) { bytes += bytes_of(operand, sizes); });
  return bytes;
}

// Rows of the whole batch that a part computes.
double num_rows(const LinearProblem& problem, const LinearPart& part) {
  if (part.wanted_rows != WantedRows::All) return num_wanted_rows(problem.limits, part.wanted_rows, problem.batch);
  return static_cast<double>(problem.batch) * static_cast<double>(problem.rows);
}

// Bytes of the rows that a part wants, `rows` of the whole batch, of an operand with axes (heads, batch, rows, size).
double bytes_of_rows(const LinearProblem& problem, const LinearPart& part, double rows, const Operand& operand,
                     int64_t num_heads, int64_t size) {
  if (part.wanted_rows == WantedRows::All || operand.strides[2] == 0)
    return bytes_of(operand, {num_heads, problem.batch, problem.rows, size});
  // Elements of a batch that are repeated have the rows that any of them wants.
  if (operand.strides[1] == 0 && problem.batch > 1)
    rows = static_cast<double>(wanted_rows_of_batch(problem.limits, part.wanted_rows, problem.batch).size());
  return bytes_of(operand, {num_heads, 1, 1, size}) * rows;
}

}  // namespace

Cost cost_of(const LinearProblem& problem) {
  const int64_t e = problem.input_size;
  double rows = 0;
  Cost cost;
  // Several parts read the input once, and of it no row that none of them wants.
  double input_bytes = problem.num_parts == 0 ? bytes_of(problem.input, {1, problem.batch, problem.rows, e}) : 0.0;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    const int64_t n = part.output_size;
    const int64_t d = part.head_size;
    // Keys and values mostly want the same ones.
    if (i == 0 || part.wanted_rows != problem.parts[i - 1].wanted_rows) rows = num_rows(problem, part);
    cost.flops += 2.0 * rows * static_cast<double>(e) * static_cast<double>(n);
    cost.bytes += bytes_of(part.weight, {1, 1, n, e}) + bytes_of(part.bias, {1, 1, 1, n}) +
                  bytes_of_rows(problem, part, rows, part.output, n / d, d);
    input_bytes = std::max(input_bytes, bytes_of_rows(problem, part, rows, problem.input, 1, e));
  }
  cost.bytes += input_bytes;
  return cost;
}

Cost cost_of(const DropoutProblem& problem) {
  double num_elements = 1;
  for (const int64_t size : problem.sizes) num_elements *= static_cast<double>(size);
  Cost cost;
  cost.flops = problem.dropout == 0 ? 0 : num_elements;
  cost.bytes = bytes_of_operands(problem);
  return cost;
}

double flops_of(const AttentionProblem& problem) {
  const double score_flops =
      (problem.scoring == Scoring::Additive ? 4.0 : 2.0) * static_cast<double>(problem.head_size);
  const double value_flops = problem.output.given != 0 ? 2.0 * static_cast<double>(problem.value_head_size) : 0.0;
  return static_cast<double>(problem.num_heads) * visible_pairs(limits_of(problem), problem.batch) *
         (score_flops + value_flops);
}

Cost cost_of(const AttentionProblem& problem) {
  Cost cost;
  cost.flops = flops_of(problem);
  cost.bytes = bytes_of_operands(problem);
  return cost;
}

}  // namespace heed
