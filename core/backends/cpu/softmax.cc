// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/softmax.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "attention/lengths.h"
#include "backends/cpu/elements.h"

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

}  // namespace

Plan plan_softmax(const SoftmaxProblem& problem, int32_t /*num_workers*/) {
  Plan plan;
  plan.kernel = "row_by_row";
  plan.isa = "portable";
  plan.scratch_bytes = static_cast<size_t>(problem.num_keys) * sizeof(float);
  return plan;
}

void run_softmax(const SoftmaxProblem& problem, const Workers& /*workers*/, void* scratch) {
  auto* row = static_cast<float*>(scratch);  // [num_keys]
  const auto row_start = [](const Operand& operand, int64_t b, int64_t h, int64_t q) {
    return b * operand.strides[0] + h * operand.strides[1] + q * operand.strides[2];
  };
  const Operand& scores = problem.scores;
  const Operand& weights = problem.weights;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.num_heads; ++h) {
      for (int64_t q = 0; q < problem.num_queries; ++q) {
        const int64_t length = problem.valid_lens.given != 0 ? length_of(problem.valid_lens, b, q) : problem.num_keys;
        load_row(scores.data, scores.dtype, row_start(scores, b, h, q), scores.strides[3], length, row);
        normalize(row, length);
        std::fill(row + length, row + problem.num_keys, 0.0f);
        const int64_t first = row_start(weights, b, h, q);
        for (int64_t k = 0; k < problem.num_keys; ++k)
          store_element(weights.data, weights.dtype, first + k * weights.strides[3], row[k]);
      }
    }
  }
}

}  // namespace heed::cpu
