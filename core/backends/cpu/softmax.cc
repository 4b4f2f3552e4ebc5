// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/softmax.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "attention/lengths.h"
#include "backends/cpu/elements.h"
#include "base/memory.h"

namespace heed::cpu {
namespace {

// Scores become weights, in place. A maximum of -inf or +inf makes the row NaN, as the difference of infinities does.
void normalize(float* row, int64_t count) {
  float maximum = -std::numeric_limits<float>::infinity();
  // A NaN is never greater; it reaches the sum through exp.
  for (int64_t k = 0; k < count; ++k) maximum = std::max(maximum, row[k]);
  float total = 0;
  for (int64_t k = 0; k < count; ++k) {
    row[k] = std::exp(row[k] - maximum);
    total += row[k];
  }
  for (int64_t k = 0; k < count; ++k) row[k] /= total;
}

// What each worker has for itself, in numbers: a row, on cache lines of its own.
int64_t row_capacity(int64_t num_keys) {
  constexpr int64_t kNumbersPerLine = kMemoryAlignment / sizeof(float);
  return (num_keys + kNumbersPerLine - 1) / kNumbersPerLine * kNumbersPerLine;
}

// An exponential takes some 5 ns, in which the matrix products that a FLOP is measured by do a few hundred.
constexpr double kFlopsPerWeight = 500;

// Weights of one item: some 40 microseconds, which makes handing it out no cost and waiting for the last one short.
constexpr int64_t kWeightsPerItem = 8192;

}  // namespace

Plan plan_softmax(const SoftmaxProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "row_by_row";
  plan.isa = "portable";
  plan.scratch_bytes =
      static_cast<size_t>(row_capacity(problem.num_keys)) * static_cast<size_t>(num_workers) * sizeof(float);
  return plan;
}

void run_softmax(const SoftmaxProblem& problem, const Workers& workers, void* scratch) {
  // Rows without weights need no memory, so there may be more of them than anyone can count to.
  if (problem.num_keys == 0) return;
  const auto row_start = [](const Operand& operand, int64_t b, int64_t h, int64_t q) {
    return b * operand.strides[0] + h * operand.strides[1] + q * operand.strides[2];
  };
  const Operand& scores = problem.scores;
  const Operand& weights = problem.weights;
  const auto run_row = [&](int64_t index, float* row) {
    const int64_t q = index % problem.num_queries;
    const int64_t h = index / problem.num_queries % problem.num_heads;
    const int64_t b = index / problem.num_queries / problem.num_heads;
    const int64_t length = problem.valid_lens.given != 0 ? length_of(problem.valid_lens, b, q) : problem.num_keys;
    load_row(scores.data, scores.dtype, row_start(scores, b, h, q), scores.strides[3], length, row);
    normalize(row, length);
    std::fill(row + length, row + problem.num_keys, 0.0f);
    const int64_t first = row_start(weights, b, h, q);
    for (int64_t k = 0; k < problem.num_keys; ++k)
      store_element(weights.data, weights.dtype, first + k * weights.strides[3], row[k]);
  };
  const int64_t num_rows = problem.batch * problem.num_heads * problem.num_queries;
  const int64_t rows_per_item = std::max<int64_t>(1, kWeightsPerItem / problem.num_keys);
  const double flops = kFlopsPerWeight * static_cast<double>(num_rows) * static_cast<double>(problem.num_keys);
  workers.for_each((num_rows + rows_per_item - 1) / rows_per_item, flops, [&](int64_t item, int32_t worker) {
    float* row = static_cast<float*>(scratch) + worker * row_capacity(problem.num_keys);
    const int64_t end = std::min(num_rows, (item + 1) * rows_per_item);
    for (int64_t index = item * rows_per_item; index < end; ++index) run_row(index, row);
  });
}

}  // namespace heed::cpu
