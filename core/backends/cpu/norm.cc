// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>

#include "backends/cpu/backward/norm_gradients.h"
#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/width.h"
#include "base/rounding.h"

namespace heed::cpu {
namespace {

// For one element: three passes over the row, in the first-level cache.
constexpr double kFlopsOfNorm = 10;

// A row, a weight and a bias in f32.
constexpr size_t kScratchRows = 3;

// Rows are padded to whole vectors.
size_t row_bytes(const NormProblem& problem) {
  static_assert(kMemoryAlignment >= 64);
  return round_up_to_alignment(static_cast<size_t>(problem.sizes[kRowAxis]) * sizeof(float));
}

double work_of_norm(const NormProblem& problem) { return count_elements(problem.sizes) * kFlopsOfNorm; }

}  // namespace

Plan plan_problem(const KernelTable& kernels, const NormProblem& problem, int32_t num_workers) {
  require_width("the size of a normalized row", problem.sizes[kElementwiseRank - 1]);
  Plan plan;
  plan.kernel = problem.kind == NormKind::Layer ? "layer_norm" : "rms_norm";
  plan.isa = kernels.isa;
  const double tasks = count_tasks_of_rows(problem.sizes);
  const double work = work_of_norm(problem);
  plan_loop_with_scratch(plan, tasks, work, kScratchRows * row_bytes(problem), num_workers);
  add_reasons_of_strides(plan, problem.input, problem.output, problem.sizes[kRowAxis]);
  add_reasons_of_strides(plan, problem.addend, problem.output, problem.sizes[kRowAxis]);
  return plan;
}

void run_problem(const KernelTable& kernels, const NormProblem& problem, const Plan& plan, const Workers& workers,
                 void* scratch) {
  if (count_elements(problem.sizes) == 0) return;
  const auto num_rows = static_cast<int64_t>(count_rows(problem.sizes));
  const int64_t size = problem.sizes[kRowAxis];
  const int64_t task_rows = rows_of_task(problem.sizes[kRowAxis]);
  const size_t bytes = row_bytes(problem);
  run_loop_with_scratch(plan, workers, scratch, [&](int64_t task, std::byte* own) {
    const auto row_at = [&](size_t index) { return reinterpret_cast<float*>(own + index * bytes); };
    NormArguments arguments = {};
    arguments.weight = widened(kernels, problem.weight, size, row_at(1));
    arguments.bias = widened(kernels, problem.bias, size, row_at(2));
    arguments.size = size;
    arguments.kind = problem.kind;
    arguments.epsilon = problem.epsilon;
    arguments.scratch = row_at(0);
    const int64_t end = std::min(num_rows, (task + 1) * task_rows);
    for (int64_t row = task * task_rows; row < end; ++row) {
      arguments.output = row_of(problem.sizes, problem.output, row, 0);
      if (is_padding(problem, row)) {
        zero_row(arguments.output, size);
        continue;
      }
      arguments.input = row_of(problem.sizes, problem.input, row, 0);
      if (problem.addend.given != 0) arguments.addend = row_of(problem.sizes, problem.addend, row, 0);
      kernels.norm_row(&arguments);
    }
  });
}

}  // namespace heed::cpu
