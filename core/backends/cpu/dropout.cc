// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/dropout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/kernel_operand.h"

namespace heed::cpu {
namespace {

// A multiple of the number of random words that a kernel draws at a time.
static_assert(kTaskElements % 64 == 0);
// For one element: ten rounds of Philox give four random words. Copying takes less.
constexpr double kFlopsPerElement = 40;

double count_tasks(const DropoutProblem& problem) {
  return std::ceil(count_elements(problem.sizes) / static_cast<double>(kTaskElements));
}

}  // namespace

uint32_t dropout_threshold(float dropout) {
  return static_cast<uint32_t>(std::floor(static_cast<double>(dropout) * 0x1p32));
}

float dropout_scale(float dropout) { return static_cast<float>(1.0 / (1.0 - static_cast<double>(dropout))); }

Plan plan_dropout(const KernelTable& kernels, const DropoutProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = problem.dropout == 0 ? "copy" : "dropout";
  plan.isa = kernels.isa;
  plan.num_tasks = static_cast<int64_t>(std::min(count_tasks(problem), 0x1p62));
  const double flops = count_elements(problem.sizes) * kFlopsPerElement;
  plan.num_threads = Workers::num_wanted(plan.num_tasks, flops, num_workers);
  set_choice(plan, flops);
  if (problem.transposes != 0) return plan;
  add_reasons_of_strides(plan, problem.input, problem.output, problem.sizes[kRowAxis]);
  return plan;
}

void run_dropout(const KernelTable& kernels, const DropoutProblem& problem, const Plan& plan, const Workers& workers) {
  const double count = count_elements(problem.sizes);
  if (count == 0) return;
  const auto num_elements = static_cast<int64_t>(count);
  const int64_t row_size = problem.sizes[kRowAxis];
  workers.for_each(plan.num_tasks, plan.num_threads, choice_of<double>(plan), [&](int64_t task, int32_t) {
    const int64_t end = std::min(num_elements, (task + 1) * kTaskElements);
    for (int64_t element = task * kTaskElements; element < end;) {
      const int64_t row = element / row_size;
      const int64_t i = element % row_size;
      DropoutArguments arguments = {};
      arguments.input = row_of(problem.sizes, problem.input, row, i);
      arguments.output = row_of(problem.sizes, problem.output, row, i);
      if (problem.addend.given != 0) arguments.addend = row_of(problem.sizes, problem.addend, row, i);
      arguments.count = std::min(row_size - i, end - element);
      arguments.first = element;
      if (is_padding(problem, row)) {
        zero_row(arguments.output, arguments.count);
      } else if (problem.dropout == 0) {
        kernels.copy_row(&arguments.input, &arguments.output, arguments.count);
      } else {
        arguments.seed = problem.seed;
        arguments.threshold = dropout_threshold(problem.dropout);
        arguments.scale = dropout_scale(problem.dropout);
        kernels.dropout_row(&arguments);
      }
      element += arguments.count;
    }
  });
}

}  // namespace heed::cpu
