// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"

namespace heed::cpu {
namespace {

// For one element: an exponential, a division, a tanh and some products.
constexpr double kFlopsOfDerivative = 40;

}  // namespace

Plan plan_problem(const KernelTable& kernels, const ActivateBackwardProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "activation_backward";
  plan.isa = kernels.isa;
  plan_loop(plan, count_tasks_of_elements(problem.sizes), count_elements(problem.sizes) * kFlopsOfDerivative,
            num_workers);
  for (const ElementwiseOperand* operand : {&problem.output_gradient, &problem.sum, &problem.factor})
    add_reasons_of_strides(plan, *operand, problem.sum_gradient, problem.sizes[kRowAxis]);
  return plan;
}

void run_problem(const KernelTable& kernels, const ActivateBackwardProblem& problem, const Plan& plan,
                 const Workers& workers, void*) {
  if (count_elements(problem.sizes) == 0) return;
  run_loop(plan, workers, [&](int64_t task) {
    for_each_part_of_row(problem.sizes, task, [&](int64_t, int64_t row, int64_t i, int64_t count) {
      const auto part_of = [&](const ElementwiseOperand& operand) {
        return operand.given != 0 ? row_of(problem.sizes, operand, row, i) : StridedRow{};
      };
      const ActivateBackwardArguments arguments = {.output_gradient = part_of(problem.output_gradient),
                                                   .sum = part_of(problem.sum),
                                                   .factor = part_of(problem.factor),
                                                   .sum_gradient = part_of(problem.sum_gradient),
                                                   .factor_gradient = part_of(problem.factor_gradient),
                                                   .activation = problem.activation,
                                                   .scale = problem.scale,
                                                   .soft_cap = problem.soft_cap,
                                                   .count = count};
      kernels.activation_backward_row(&arguments);
    });
  });
}

}  // namespace heed::cpu
