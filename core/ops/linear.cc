// SPDX-License-Identifier: Apache-2.0
#include "ops/linear.h"

#include <algorithm>
#include <cstdint>

#include "ops/visible_keys.h"

namespace heed {
namespace {

// The number of rows that a part computes in the whole batch.
double num_rows(const LinearProblem& problem, const LinearPart& part) {
  if (part.wanted_rows != WantedRows::All) return num_wanted_rows(problem.limits, part.wanted_rows, problem.batch);
  return static_cast<double>(problem.batch) * static_cast<double>(problem.rows);
}

// The bytes that a part uses of an operand with axes (heads, batch, rows, size). `rows`: the number of rows that the
// part wants in the whole batch.
double bytes_of_rows(const LinearProblem& problem, const LinearPart& part, double rows, const Operand& operand,
                     int64_t num_heads, int64_t size) {
  if (part.wanted_rows == WantedRows::All || operand.strides[2] == 0)
    return bytes_of(operand, {num_heads, problem.batch, problem.rows, size});
  // A batch axis of stride 0 is stored once, so the wanted rows of all batch elements overlap.
  if (operand.strides[1] == 0 && problem.batch > 1)
    rows = static_cast<double>(wanted_rows_of_batch(problem.limits, part.wanted_rows, problem.batch).size());
  return bytes_of(operand, {num_heads, 1, 1, size}) * rows;
}

// The flops for one element of the output, besides those of its sum. The cap multiplies twice; its tanh counts as one.
double flops_after_sum(const LinearPart& part) {
  return (part.scale != 1 ? 1.0 : 0.0) + (part.soft_cap > 0 ? 3.0 : 0.0) + flops_of(part.activation) +
         part.factor.given + part.addend.given;
}

}  // namespace

Cost cost_of(const LinearProblem& problem) {
  const int64_t e = problem.input_size;
  double rows = 0;
  Cost cost;
  // All parts share one read of the input. A row that no part wants is not read.
  double input_bytes = problem.num_parts == 0 ? bytes_of(problem.input, {1, problem.batch, problem.rows, e}) : 0.0;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    const int64_t n = part.output_size;
    const int64_t d = part.head_size;
    // Consecutive parts, such as keys and values, mostly want the same rows.
    if (i == 0 || part.wanted_rows != problem.parts[i - 1].wanted_rows) rows = num_rows(problem, part);
    cost.flops += 2.0 * rows * static_cast<double>(e) * static_cast<double>(n);
    cost.bytes += bytes_of(part.weight, {1, 1, n, e}) + bytes_of(part.bias, {1, 1, 1, n}) +
                  bytes_of_rows(problem, part, rows, part.output, n / d, d) +
                  bytes_of_rows(problem, part, rows, part.factor, n / d, d) +
                  bytes_of_rows(problem, part, rows, part.addend, n / d, d) +
                  bytes_of_rows(problem, part, rows, part.sum, n / d, d);
    cost.flops += rows * static_cast<double>(n) * flops_after_sum(part);
    input_bytes = std::max(input_bytes, bytes_of_rows(problem, part, rows, problem.input, 1, e));
  }
  cost.bytes += input_bytes;
  return cost;
}

}  // namespace heed
