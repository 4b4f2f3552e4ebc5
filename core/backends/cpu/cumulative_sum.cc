// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "tensor/copy.h"

namespace heed::cpu {
namespace {

// For one element: two conversions, and a sum that waits for the one before.
constexpr double kFlopsPerSum = 20;
// Elements that are converted together.
constexpr int64_t kSummedTogether = 256;

template <typename T>
void sum_row(const CumulativeSumProblem& problem, int64_t row) {
  // -0, since 0 + -0 is 0.
  T sum = static_cast<T>(std::is_floating_point_v<T> ? -0.0 : 0);
  T elements[kSummedTogether];
  for (int64_t i = 0; i < problem.sizes[kRowAxis]; i += kSummedTogether) {
    const int64_t count = std::min(kSummedTogether, problem.sizes[kRowAxis] - i);
    const StridedRow input = row_of(problem.sizes, problem.input, row, i);
    const StridedRow output = row_of(problem.sizes, problem.output, row, i);
    convert_elements(problem.compute, elements, sizeof(T), input.dtype, input.data,
                     input.stride * static_cast<int64_t>(size_of(input.dtype)), count);
    for (int64_t k = 0; k < count; ++k) {
      if constexpr (std::is_integral_v<T>) {
        // Wraps around.
        sum = static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(elements[k]));
      } else {
        sum += elements[k];
      }
      elements[k] = sum;
    }
    convert_elements(output.dtype, output.data, output.stride * static_cast<int64_t>(size_of(output.dtype)),
                     problem.compute, elements, sizeof(T), count);
  }
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const CumulativeSumProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "cumulative_sum";
  plan.isa = kernels.isa;
  const Cost cost = {.flops = count_elements(problem.sizes) * kFlopsPerSum, .bytes = bytes_of_operands(problem)};
  plan_loop(plan, count_tasks_of_rows(problem.sizes), work_of(cost), num_workers);
  add_reasons_of_strides(plan, problem.input, problem.output, problem.sizes[kRowAxis]);
  return plan;
}

void run_problem(const KernelTable&, const CumulativeSumProblem& problem, const Plan& plan, const Workers& workers,
                 void*) {
  if (count_elements(problem.sizes) == 0) return;
  const auto num_rows = static_cast<int64_t>(count_rows(problem.sizes));
  const int64_t task_rows = rows_of_task(problem.sizes[kRowAxis]);
  run_loop(plan, workers, [&](int64_t task) {
    const int64_t end = std::min(num_rows, (task + 1) * task_rows);
    for (int64_t row = task * task_rows; row < end; ++row) {
      if (problem.compute == DType::F32) {
        sum_row<float>(problem, row);
      } else if (problem.compute == DType::F64) {
        sum_row<double>(problem, row);
      } else {
        sum_row<int64_t>(problem, row);
      }
    }
  });
}

}  // namespace heed::cpu
