// SPDX-License-Identifier: Apache-2.0
// One loop computes the gradients of the rows, and describes each row for a second loop, which computes those of the parameters:
// each task has some columns, over all rows.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/backward/norm_gradients.h"
#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/width.h"
#include "base/rounding.h"

namespace heed::cpu {
namespace {

// For one element: four passes over the row, in the first-level cache.
constexpr double kFlopsOfRow = 20;

// A row and a weight in f32.
constexpr size_t kRowsOfScratch = 2;

size_t row_bytes(const NormBackwardProblem& problem) {
  return round_up_to_alignment(static_cast<size_t>(problem.sizes[kRowAxis]) * sizeof(float));
}

bool has_parameter_gradients(const NormBackwardProblem& problem) {
  return problem.weight_gradient.given != 0 || problem.bias_gradient.given != 0;
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const NormBackwardProblem& problem, int32_t num_workers) {
  require_width("the size of a normalized row", problem.sizes[kRowAxis]);
  Plan plan;
  plan.kernel = problem.kind == NormKind::Layer ? "layer_norm_backward" : "rms_norm_backward";
  plan.isa = kernels.isa;
  const double shared = has_parameter_gradients(problem) ? normalized_rows_bytes(count_rows(problem.sizes)) : 0;
  plan_loop_with_scratch(plan, count_tasks_of_rows(problem.sizes), count_elements(problem.sizes) * kFlopsOfRow,
                         kRowsOfScratch * row_bytes(problem), num_workers, shared);
  add_reasons_of_strides(plan, problem.input, problem.input_gradient, problem.sizes[kRowAxis]);
  add_reasons_of_strides(plan, problem.output_gradient, problem.input_gradient, problem.sizes[kRowAxis]);
  return plan;
}

void run_problem(const KernelTable& kernels, const NormBackwardProblem& problem, const Plan& plan,
                 const Workers& workers, void* memory) {
  const int64_t size = problem.sizes[kRowAxis];
  if (size == 0) return;
  const auto num_rows = static_cast<int64_t>(count_rows(problem.sizes));
  const int64_t task_rows = rows_of_task(size);
  const size_t bytes = row_bytes(problem);
  auto* const normalized = reinterpret_cast<NormalizedRow*>(shared_scratch(plan, memory));
  const bool describes_rows = has_parameter_gradients(problem);
  run_loop_with_scratch(plan, workers, memory, [&](int64_t task, std::byte* own) {
    NormBackwardArguments arguments = {};
    arguments.scratch = reinterpret_cast<float*>(own);
    arguments.weight = widened(kernels, problem.weight, size, reinterpret_cast<float*>(own + bytes));
    arguments.size = size;
    arguments.kind = problem.kind;
    arguments.epsilon = problem.epsilon;
    const int64_t end = std::min(num_rows, (task + 1) * task_rows);
    for (int64_t row = task * task_rows; row < end; ++row) {
      if (problem.input_gradient.given != 0)
        arguments.input_gradient = row_of(problem.sizes, problem.input_gradient, row, 0);
      if (problem.addend.given != 0) arguments.addend = row_of(problem.sizes, problem.addend, row, 0);
      arguments.output_gradient = row_of(problem.sizes, problem.output_gradient, row, 0);
      arguments.input = row_of(problem.sizes, problem.input, row, 0);
      arguments.normalized = describes_rows ? normalized + row : nullptr;
      kernels.norm_backward_row(&arguments);
    }
  });
  if (!describes_rows) return;
  NormGradientArguments arguments = {};
  arguments.rows = normalized;
  arguments.num_rows = num_rows;
  arguments.input_stride = problem.input.strides[kRowAxis];
  arguments.gradient_stride = problem.output_gradient.strides[kRowAxis];
  arguments.weight_gradient = parameter_row(problem.weight_gradient, 0);
  arguments.bias_gradient = parameter_row(problem.bias_gradient, 0);
  arguments.accumulates_weight = problem.weight_gradient.given != 0 ? problem.accumulates_weight : 0;
  arguments.accumulates_bias = problem.bias_gradient.given != 0 ? problem.accumulates_bias : 0;
  sum_norm_gradients(kernels, 1, num_rows, size, workers, [&](int64_t) { return arguments; });
}

}  // namespace heed::cpu
