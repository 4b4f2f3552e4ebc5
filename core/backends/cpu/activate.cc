// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/activate.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/kernel_operand.h"

namespace heed::cpu {
namespace {

// For one element: an exponential, a division and some products. ReLU takes less.
constexpr double kFlopsOfActivation = 20;

double count_tasks(const ActivateProblem& problem) {
  return std::ceil(count_elements(problem.sizes) / static_cast<double>(kTaskElements));
}

}  // namespace

Plan plan_activate(const KernelTable& kernels, const ActivateProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "activation";
  plan.isa = kernels.isa;
  plan.num_tasks = static_cast<int64_t>(std::min(count_tasks(problem), 0x1p62));
  const double flops = count_elements(problem.sizes) * kFlopsOfActivation;
  plan.num_threads = Workers::num_wanted(plan.num_tasks, flops, num_workers);
  set_choice(plan, flops);
  add_reasons_of_strides(plan, problem.input, problem.output, problem.sizes[kRowAxis]);
  return plan;
}

void run_activate(const KernelTable& kernels, const ActivateProblem& problem, const Plan& plan,
                  const Workers& workers) {
  const double count = count_elements(problem.sizes);
  if (count == 0) return;
  const auto num_elements = static_cast<int64_t>(count);
  const int64_t row_size = problem.sizes[kRowAxis];
  workers.for_each(plan.num_tasks, plan.num_threads, choice_of<double>(plan), [&](int64_t task, int32_t) {
    const int64_t end = std::min(num_elements, (task + 1) * kTaskElements);
    for (int64_t element = task * kTaskElements; element < end;) {
      const int64_t row = element / row_size;
      const int64_t i = element % row_size;
      const int64_t num_of_row = std::min(row_size - i, end - element);
      const StridedRow input = row_of(problem.sizes, problem.input, row, i);
      const StridedRow output = row_of(problem.sizes, problem.output, row, i);
      kernels.activation_row(problem.activation, &input, &output, num_of_row);
      element += num_of_row;
    }
  });
}

}  // namespace heed::cpu
