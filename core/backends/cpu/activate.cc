// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/activate.h"

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"

namespace heed::cpu {
namespace {

// For one element: an exponential, a division and some products. ReLU takes less.
constexpr double kFlopsOfActivation = 20;

}  // namespace

Plan plan_activate(const KernelTable& kernels, const ActivateProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "activation";
  plan.isa = kernels.isa;
  const double flops = count_elements(problem.sizes) * kFlopsOfActivation;
  plan_loop(plan, count_tasks_of_elements(problem.sizes), flops, num_workers);
  add_reasons_of_strides(plan, problem.input, problem.output, problem.sizes[kRowAxis]);
  return plan;
}

void run_activate(const KernelTable& kernels, const ActivateProblem& problem, const Plan& plan,
                  const Workers& workers) {
  if (count_elements(problem.sizes) == 0) return;
  run_loop(plan, workers, [&](int64_t task) {
    for_each_part_of_row(problem.sizes, task, [&](int64_t, int64_t row, int64_t i, int64_t count) {
      const StridedRow input = row_of(problem.sizes, problem.input, row, i);
      const StridedRow output = row_of(problem.sizes, problem.output, row, i);
      kernels.activation_row(problem.activation, &input, &output, count);
    });
  });
}

}  // namespace heed::cpu
