// SPDX-License-Identifier: Apache-2.0
// A row's factors exp(log_sum_exp) / total are computed in double and rounded once to f32. So the error of an output is
// the rounding of each factor and of the sum.
#include "backends/cpu/merge.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "base/rounding.h"

namespace heed::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The number of elements, of all parts, that a task reads: some microseconds.
constexpr int64_t kMergeTaskElements = int64_t{1} << 14;
// For one factor: an exponential in double. For one element: a product, a load and a store.
constexpr double kFlopsPerWeight = 100;
constexpr double kFlopsPerMergedElement = 4;

int64_t rows_of_task(const MergeProblem& problem) {
  const int64_t row_size = std::max<int64_t>(1, problem.sizes[kRowAxis]);
  const int64_t num_parts = std::max<int64_t>(1, problem.num_parts);
  return std::max<int64_t>(1, kMergeTaskElements / row_size / num_parts);
}

double count_tasks(const MergeProblem& problem) {
  return std::ceil(count_rows(problem.sizes) / static_cast<double>(rows_of_task(problem)));
}

double flops_of(const MergeProblem& problem) {
  const double row_size = problem.output.given != 0 ? static_cast<double>(problem.sizes[kRowAxis]) : 0.0;
  return count_rows(problem.sizes) * static_cast<double>(problem.num_parts) *
         (kFlopsPerWeight + kFlopsPerMergedElement * row_size);
}

// Scratch of one worker: the parts' rows, then their factors.
size_t rows_bytes(const MergeProblem& problem) {
  return round_up_to_alignment(static_cast<size_t>(problem.num_parts) * sizeof(StridedRow));
}
size_t worker_bytes(const MergeProblem& problem) {
  return rows_bytes(problem) + round_up_to_alignment(static_cast<size_t>(problem.num_parts) * sizeof(float));
}

float& float_of(const MergeProblem& problem, const ElementwiseOperand& operand, int64_t row) {
  return *static_cast<float*>(row_of(problem.sizes, operand, row, 0).data);
}

void merge_row(const KernelTable& kernels, const MergeProblem& problem, int64_t row, StridedRow* rows, float* weights) {
  const double sink = problem.sinks.given != 0 ? float_of(problem, problem.sinks, row) : -kInfinity;
  // NaN counts as larger than every number, so that it propagates to the results.
  double maximum = sink;
  for (int64_t n = 0; n < problem.num_parts; ++n) {
    const double part = float_of(problem, problem.parts[n].log_sum_exp, row);
    if (part > maximum || std::isnan(part)) maximum = part;
  }
  const bool is_empty = maximum == -kInfinity;
  double total = is_empty ? 0.0 : std::exp(sink - maximum);
  for (int64_t n = 0; n < problem.num_parts && !is_empty; ++n)
    total += std::exp(float_of(problem, problem.parts[n].log_sum_exp, row) - maximum);
  if (problem.log_sum_exp.given != 0) {
    const double log_sum_exp = is_empty ? -kInfinity : maximum + std::log(total);
    float_of(problem, problem.log_sum_exp, row) = static_cast<float>(log_sum_exp);
  }
  if (problem.output.given == 0) return;
  MergeArguments arguments = {rows, weights, 0, row_of(problem.sizes, problem.output, row, 0), problem.sizes[kRowAxis]};
  for (int64_t n = 0; n < problem.num_parts; ++n) {
    const double part = float_of(problem, problem.parts[n].log_sum_exp, row);
    if (part == -kInfinity) continue;
    rows[arguments.num_parts] = row_of(problem.sizes, problem.parts[n].output, row, 0);
    weights[arguments.num_parts++] = static_cast<float>(std::exp(part - maximum) / total);
  }
  kernels.merge_row(&arguments);
}

}  // namespace

Plan plan_merge(const KernelTable& kernels, const MergeProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "merge";
  plan.isa = kernels.isa;
  plan_loop_with_scratch(plan, count_tasks(problem), flops_of(problem), worker_bytes(problem), num_workers);
  const bool is_part_gathered =
      std::any_of(problem.parts, problem.parts + problem.num_parts,
                  [&](const MergePart& part) { return is_gathered(part.output, problem.sizes[kRowAxis]); });
  if (is_part_gathered)
    plan.add_reason("the elements of a part's row do not lie side by side (stride 1), so they are gathered");
  if (is_noncontiguous(problem.output, problem.sizes[kRowAxis]))
    plan.add_reason("the elements of a row of output do not lie side by side (stride 1), so they are scattered");
  return plan;
}

void run_merge(const KernelTable& kernels, const MergeProblem& problem, const Plan& plan, const Workers& workers,
               void* scratch) {
  const auto num_rows = static_cast<int64_t>(count_rows(problem.sizes));
  const int64_t task_rows = rows_of_task(problem);
  run_loop_with_scratch(plan, workers, scratch, [&](int64_t task, std::byte* own) {
    auto* rows = reinterpret_cast<StridedRow*>(own);
    auto* weights = reinterpret_cast<float*>(own + rows_bytes(problem));
    const int64_t end = std::min(num_rows, (task + 1) * task_rows);
    for (int64_t row = task * task_rows; row < end; ++row) merge_row(kernels, problem, row, rows, weights);
  });
}

}  // namespace heed::cpu
