// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/clear_row.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/width.h"
#include "base/rounding.h"
#include "ops/lengths.h"

namespace heed::cpu {
namespace {

// The number of logits of a task: some microseconds.
constexpr int64_t kTaskLogits = int64_t{1} << 14;
// For one logit: an exponential, two loads and a store.
constexpr double kFlopsPerLogit = 20;

int64_t rows_of_entropy_task(const CrossEntropyProblem& problem) {
  return std::max<int64_t>(1, kTaskLogits / std::max<int64_t>(1, problem.num_classes));
}

// A double, because plans are also made for shapes that are too large to run.
double count_entropy_rows(const CrossEntropyProblem& problem) {
  return static_cast<double>(problem.batch) * static_cast<double>(problem.num_steps);
}

int64_t row_offset(const Operand& operand, int64_t b, int64_t s) {
  return b * operand.strides[0] + s * operand.strides[2];
}
StridedRow classes_of(const Operand& operand, int64_t b, int64_t s) {
  return {static_cast<float*>(operand.data) + row_offset(operand, b, s), operand.strides[3], DType::F32};
}
int64_t label_of(const Operand& labels, int64_t b, int64_t s) {
  const int64_t offset = row_offset(labels, b, s);
  return labels.dtype == DType::I32 ? static_cast<const int32_t*>(labels.data)[offset]
                                    : static_cast<const int64_t*>(labels.data)[offset];
}

// The elements of the row in turn, or those of the copy that was made of others.
float* adjacent(const StridedRow& row, int64_t count, float* copy) {
  return row.stride == 1 || count == 1 ? static_cast<float*>(row.data) : copy;
}

// A row that counts. `copy` has num_classes floats.
double loss_of_row(const KernelTable& kernels, const CrossEntropyProblem& problem, int64_t b, int64_t s, int64_t label,
                   float* copy) {
  const int64_t count = problem.num_classes;
  const StridedRow logits = classes_of(problem.logits, b, s);
  const bool has_gradient = problem.gradient.given != 0;
  const StridedRow gradient = has_gradient ? classes_of(problem.gradient, b, s) : StridedRow{};
  const auto of_label = static_cast<double>(static_cast<const float*>(logits.data)[label * logits.stride]);

  CrossEntropyRow row{};
  row.logits = adjacent(logits, count, copy);
  if (row.logits == copy) {
    const StridedRow copied = {copy, 1, DType::F32};
    kernels.copy_row(&logits, &copied, count);
  }
  row.powers = has_gradient ? adjacent(gradient, count, copy) : nullptr;
  row.count = count;
  row.sums_logits = problem.smoothing != 0 ? 1 : 0;
  kernels.sum_powers(&row);

  const auto maximum = static_cast<double>(row.maximum);
  const auto num_classes = static_cast<double>(count);
  const double smoothing = problem.smoothing;
  // Each part is left out where its weight is 0, since 0 times infinity is not 0.
  double loss = std::log(row.sum_of_powers);
  if (smoothing != 1) loss -= (1 - smoothing) * (of_label - maximum);
  if (smoothing != 0) loss -= smoothing * (row.sum_of_logits / num_classes - maximum);

  if (has_gradient) {
    const double factor = problem.factor;
    const double part = smoothing / num_classes;
    const double weight = static_cast<double>(row.powers[label]) / row.sum_of_powers;
    kernels.scale_and_subtract(row.powers, count, static_cast<float>(factor / row.sum_of_powers),
                               static_cast<float>(factor * part));
    row.powers[label] = static_cast<float>(factor * (weight - (1 - smoothing) - part));
    if (row.powers == copy) {
      const StridedRow copied = {copy, 1, DType::F32};
      kernels.copy_row(&copied, &gradient, count);
    }
  }
  return loss;
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const CrossEntropyProblem& problem, int32_t num_workers) {
  require_width("the number of classes", problem.num_classes);
  Plan plan;
  plan.kernel = "cross_entropy";
  plan.isa = kernels.isa;
  const bool is_gathered_row = is_gathered(problem.logits, problem.num_classes);
  const bool is_scattered_row = is_gathered(problem.gradient, problem.num_classes);
  const bool is_copied =
      is_noncontiguous(problem.logits, problem.num_classes) || is_noncontiguous(problem.gradient, problem.num_classes);
  const size_t worker_bytes =
      is_copied ? round_up_to_alignment(static_cast<size_t>(problem.num_classes) * sizeof(float)) : 0;
  const double rows = count_entropy_rows(problem);
  plan_loop_with_scratch(plan, std::ceil(rows / static_cast<double>(rows_of_entropy_task(problem))),
                         rows * static_cast<double>(problem.num_classes) * kFlopsPerLogit, worker_bytes, num_workers);
  if (is_gathered_row) plan.add_reason("the logits of a row do not lie side by side (stride 1), so they are gathered");
  if (is_scattered_row)
    plan.add_reason("the gradients of a row do not lie side by side (stride 1), so they are scattered");
  return plan;
}

void run_problem(const KernelTable& kernels, const CrossEntropyProblem& problem, const Plan& plan,
                 const Workers& workers, void* scratch) {
  const auto num_rows = static_cast<int64_t>(count_entropy_rows(problem));
  const int64_t task_rows = rows_of_entropy_task(problem);
  run_loop_with_scratch(plan, workers, scratch, [&](int64_t task, std::byte* own) {
    const int64_t end = std::min(num_rows, (task + 1) * task_rows);
    for (int64_t row = task * task_rows; row < end; ++row) {
      const int64_t b = row / problem.num_steps;
      const int64_t s = row % problem.num_steps;
      const int64_t length = problem.valid_lens.given != 0 ? length_of(problem.valid_lens, b, 0) : problem.num_steps;
      double& loss = static_cast<double*>(problem.losses.data)[row_offset(problem.losses, b, s)];
      loss = 0;
      if (s < length) {
        const int64_t label = label_of(problem.labels, b, s);
        if (label != problem.ignore_index) {
          loss = loss_of_row(kernels, problem, b, s, label, reinterpret_cast<float*>(own));
          continue;
        }
      }
      if (problem.gradient.given != 0) clear_row(classes_of(problem.gradient, b, s), problem.num_classes);
    }
  });
}

}  // namespace heed::cpu
