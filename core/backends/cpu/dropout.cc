// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/dropout.h"

#include <cmath>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"

namespace heed::cpu {
namespace {

// A multiple of the number of random words that a kernel draws at a time.
static_assert(kTaskElements % 64 == 0);
// For one element: ten rounds of Philox give four random words. Copying takes less.
constexpr double kFlopsPerElement = 40;

}  // namespace

uint32_t dropout_threshold(float dropout) {
  return static_cast<uint32_t>(std::floor(static_cast<double>(dropout) * 0x1p32));
}

float dropout_scale(float dropout) { return static_cast<float>(1.0 / (1.0 - static_cast<double>(dropout))); }

Plan plan_dropout(const KernelTable& kernels, const DropoutProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = problem.dropout == 0 ? "copy" : "dropout";
  plan.isa = kernels.isa;
  const double flops = count_elements(problem.sizes) * kFlopsPerElement;
  plan_loop(plan, count_tasks_of_elements(problem.sizes), flops, num_workers);
  if (problem.transposes != 0) return plan;
  add_reasons_of_strides(plan, problem.input, problem.output, problem.sizes[kRowAxis]);
  return plan;
}

void run_dropout(const KernelTable& kernels, const DropoutProblem& problem, const Plan& plan, const Workers& workers) {
  if (count_elements(problem.sizes) == 0) return;
  run_loop(plan, workers, [&](int64_t task) {
    for_each_part_of_row(problem.sizes, task, [&](int64_t element, int64_t row, int64_t i, int64_t count) {
      DropoutArguments arguments = {};
      arguments.input = row_of(problem.sizes, problem.input, row, i);
      arguments.output = row_of(problem.sizes, problem.output, row, i);
      if (problem.addend.given != 0) arguments.addend = row_of(problem.sizes, problem.addend, row, i);
      arguments.count = count;
      arguments.first = element;
      if (is_padding(problem, row)) {
        zero_row(arguments.output, count);
      } else if (problem.dropout == 0) {
        kernels.copy_row(&arguments.input, &arguments.output, count);
      } else {
        arguments.seed = problem.seed;
        arguments.threshold = dropout_threshold(problem.dropout);
        arguments.scale = dropout_scale(problem.dropout);
        kernels.dropout_row(&arguments);
      }
    });
  });
}

}  // namespace heed::cpu
