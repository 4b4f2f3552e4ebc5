// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/width.h"
#include "base/rounding.h"
#include "ops/lengths.h"
#include "tensor/copy.h"

namespace heed::cpu {
namespace {

// The number of scores of a task: some microseconds.
constexpr int64_t kTaskScores = int64_t{1} << 14;
// For one score: an exponential, a division, a load and a store.
constexpr double kFlopsPerScore = 20;

int64_t rows_of_task(const SoftmaxProblem& problem) {
  return std::max<int64_t>(1, kTaskScores / std::max<int64_t>(1, problem.num_keys));
}

// A double, because plans are also made for shapes that are too large to run.
double count_rows(const SoftmaxProblem& problem) {
  return static_cast<double>(problem.batch) * static_cast<double>(problem.num_heads) *
         static_cast<double>(problem.num_queries);
}

double count_tasks(const SoftmaxProblem& problem) {
  return std::ceil(count_rows(problem) / static_cast<double>(rows_of_task(problem)));
}

size_t worker_bytes(const SoftmaxProblem& problem) {
  const size_t element = problem.scores.dtype == DType::F64 ? sizeof(double) : sizeof(float);
  const size_t bytes = static_cast<size_t>(problem.num_keys) * element;
  return round_up_to_alignment(bytes);
}

StridedRow scores_row(const Operand& operand, int64_t b, int64_t h, int64_t q) {
  const int64_t index = b * operand.strides[0] + h * operand.strides[1] + q * operand.strides[2];
  auto* data = static_cast<std::byte*>(operand.data) + index * static_cast<int64_t>(size_of(operand.dtype));
  return {data, operand.strides[3], operand.dtype};
}

// The softmax of a row of F64, or its logarithm.
void softmax_row_of_doubles(const StridedRow& scores, const StridedRow& weights, int64_t count, bool is_logarithm,
                            double* row) {
  const auto step = [](const StridedRow& strided) { return strided.stride * static_cast<int64_t>(sizeof(double)); };
  convert_elements(DType::F64, row, sizeof(double), DType::F64, scores.data, step(scores), count);
  double maximum = -std::numeric_limits<double>::infinity();
  // A NaN is never greater; it reaches the sum through its exponential.
  for (int64_t i = 0; i < count; ++i) maximum = std::max(maximum, row[i]);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    row[i] -= maximum;
    const double power = std::exp(row[i]);
    if (!is_logarithm) row[i] = power;
    sum += power;
  }
  const double logarithm = std::log(sum);
  for (int64_t i = 0; i < count; ++i) row[i] = is_logarithm ? row[i] - logarithm : row[i] / sum;
  convert_elements(DType::F64, weights.data, step(weights), DType::F64, row, sizeof(double), count);
}

double flops_of(const SoftmaxProblem& problem) {
  return count_rows(problem) * static_cast<double>(problem.num_keys) * kFlopsPerScore;
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const SoftmaxProblem& problem, int32_t num_workers) {
  require_width("the length of a softmax", problem.num_keys);
  // Rows are padded to whole vectors.
  static_assert(kMemoryAlignment >= 64);
  Plan plan;
  plan.kernel = problem.is_logarithm != 0 ? "log_softmax" : "softmax";
  plan.isa = kernels.isa;
  plan_loop_with_scratch(plan, count_tasks(problem), flops_of(problem), worker_bytes(problem), num_workers);
  if (is_gathered(problem.scores, problem.num_keys))
    plan.add_reason("the elements of the softmax's axis do not lie side by side (stride 1), so they are gathered");
  if (is_gathered(problem.weights, problem.num_keys))
    plan.add_reason("the elements of the result's axis do not lie side by side (stride 1), so they are scattered");
  return plan;
}

void run_problem(const KernelTable& kernels, const SoftmaxProblem& problem, const Plan& plan, const Workers& workers,
                 void* scratch) {
  if (problem.num_keys == 0) return;
  const auto num_rows = static_cast<int64_t>(count_rows(problem));
  const int64_t task_rows = rows_of_task(problem);
  run_loop_with_scratch(plan, workers, scratch, [&](int64_t task, std::byte* own) {
    const int64_t end = std::min(num_rows, (task + 1) * task_rows);
    for (int64_t row = task * task_rows; row < end; ++row) {
      const int64_t q = row % problem.num_queries;
      const int64_t h = row / problem.num_queries % problem.num_heads;
      const int64_t b = row / problem.num_queries / problem.num_heads;
      const int64_t length = problem.valid_lens.given != 0 ? length_of(problem.valid_lens, b, q) : problem.num_keys;
      const StridedRow scores = scores_row(problem.scores, b, h, q);
      const StridedRow weights = scores_row(problem.weights, b, h, q);
      if (scores.dtype == DType::F64) {
        softmax_row_of_doubles(scores, weights, length, problem.is_logarithm != 0, reinterpret_cast<double*>(own));
        continue;
      }
      kernels.softmax_row(&scores, length, &weights, problem.num_keys, problem.is_logarithm,
                          reinterpret_cast<float*>(own));
    }
  });
}

}  // namespace heed::cpu
