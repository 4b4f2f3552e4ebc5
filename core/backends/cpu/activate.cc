// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <numbers>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"

namespace heed::cpu {
namespace {

// For one element: an exponential, a division and some products. ReLU takes less.
constexpr double kFlopsOfActivation = 20;

// A power e^x of a negative x does not overflow.
double logistic(double x) {
  const double power = std::exp(-std::abs(x));
  return (x < 0 ? power : 1) / (power + 1);
}

// The formulas are those of ops/activation.h.
double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::None: return x;
    case Activation::Relu: return x < 0 ? 0 : x;
    case Activation::Gelu: return x * (std::erfc(-x / std::numbers::sqrt2) / 2);
    case Activation::GeluTanh: return x * logistic(std::sqrt(8 / std::numbers::pi) * (x + 0.044715 * x * x * x));
    case Activation::GeluQuick: return x * logistic(1.702 * x);
    case Activation::Silu: return x * logistic(x);
  }
  __builtin_unreachable();  // there is no other activation
}

void activate_doubles(Activation activation, const StridedRow& input, const StridedRow& output, int64_t count) {
  const auto* from = static_cast<const double*>(input.data);
  auto* to = static_cast<double*>(output.data);
  for (int64_t i = 0; i < count; ++i) to[i * output.stride] = activated(activation, from[i * input.stride]);
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const ActivateProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "activation";
  plan.isa = kernels.isa;
  const double flops = count_elements(problem.sizes) * kFlopsOfActivation;
  plan_loop(plan, count_tasks_of_elements(problem.sizes), flops, num_workers);
  add_reasons_of_strides(plan, problem.input, problem.output, problem.sizes[kRowAxis]);
  return plan;
}

void run_problem(const KernelTable& kernels, const ActivateProblem& problem, const Plan& plan, const Workers& workers,
                 void*) {
  if (count_elements(problem.sizes) == 0) return;
  run_loop(plan, workers, [&](int64_t task) {
    for_each_part_of_row(problem.sizes, task, [&](int64_t, int64_t row, int64_t i, int64_t count) {
      const StridedRow input = row_of(problem.sizes, problem.input, row, i);
      const StridedRow output = row_of(problem.sizes, problem.output, row, i);
      if (input.dtype == DType::F64) {
        activate_doubles(problem.activation, input, output, count);
      } else {
        kernels.activation_row(problem.activation, &input, &output, count);
      }
    });
  });
}

}  // namespace heed::cpu
