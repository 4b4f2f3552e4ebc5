// SPDX-License-Identifier: Apache-2.0
// A task computes some columns of some rows of the weight's gradient, over all rows of the batch. Further tasks compute the
// bias's. Nothing is summed by several tasks.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/width.h"
#include "base/rounding.h"

namespace heed::cpu {
namespace {

// The outputs and the columns of a task. It copies its part of both operands: a tenth of its time with the least, a fortieth
// with the most. The gradients of the most outputs take 1.5 MiB.
constexpr int64_t kMostOutputs = 768;
constexpr int64_t kMostColumns = 1536;
constexpr int64_t kLeastSize = 192;
// Load balance: with at least 2 tasks for each worker, the last one to finish is late by half of its share at most.
constexpr int64_t kGradientTasksPerWorker = 2;

// The operands' rows as one batch element if they have one stride, and adjacent heads as one head.
WeightGradientArguments arguments_of(const WeightGradientProblem& problem) {
  WeightGradientArguments arguments = {};
  arguments.batch = problem.batch;
  arguments.rows = problem.rows;
  arguments.input_size = problem.input_size;
  arguments.output_size = problem.output_size;
  arguments.head_size = problem.head_size;
  copy_operand(arguments.output_gradient, problem.output_gradient);
  copy_operand(arguments.input, problem.input);
  if (problem.weight_gradient.given != 0) copy_operand(arguments.weight_gradient, problem.weight_gradient);
  if (problem.bias_gradient.given != 0) copy_operand(arguments.bias_gradient, problem.bias_gradient);
  arguments.scale = problem.scale;
  arguments.accumulates_weight = problem.accumulates_weight;
  arguments.accumulates_bias = problem.accumulates_bias;
  const Operand& gradient = problem.output_gradient;
  if (gradient.strides[0] == problem.head_size * gradient.strides[3]) arguments.head_size = problem.output_size;
  Operand* const operands[] = {&arguments.output_gradient, &arguments.input};
  if (problem.rows == 1) {
    for (Operand* operand : operands) operand->strides[2] = operand->strides[1];
  }
  const bool is_uniform = std::ranges::all_of(operands, [&](const Operand* operand) {
    return problem.batch == 1 || problem.rows == 1 || operand->strides[1] == problem.rows * operand->strides[2];
  });
  if (is_uniform) {
    arguments.rows = problem.batch * problem.rows;
    arguments.batch = 1;
  }
  return arguments;
}

// How the gradients are cut into tasks.
struct Cut {
  int64_t outputs = 0;  // of a task of the weight
  int64_t groups = 0;   // of outputs
  int64_t panels = 0;   // of all columns
  int64_t panels_of_task = 1;
  int64_t ranges = 0;  // of panels
  int64_t strip = 1;   // outputs of a task of the bias, in one head
  int64_t strips = 0;  // of a head
  double num_tasks = 0;

  Cut(const KernelTable& kernels, const WeightGradientProblem& problem, int32_t num_workers) {
    const Operand& gradient = problem.output_gradient;
    const bool is_one_head = gradient.strides[0] == problem.head_size * gradient.strides[3];
    const int64_t head_size = std::max<int64_t>(1, is_one_head ? problem.output_size : problem.head_size);
    if (problem.weight_gradient.given != 0 && problem.input_size > 0 && problem.output_size > 0) {
      panels = kernels.linear_panels(problem.input_size);
      set_sizes(problem, kernels.linear_panel_columns, kMostOutputs, kMostColumns);
      const int64_t wanted = num_workers > 1 ? kGradientTasksPerWorker * num_workers : 1;
      for (int64_t parts = 2; num_weight_tasks() < static_cast<double>(wanted) && parts <= 8; parts *= 2) {
        set_sizes(problem, kernels.linear_panel_columns, std::max(kLeastSize, kMostOutputs / parts),
                  std::max(kLeastSize, kMostColumns / parts));
      }
    }
    if (problem.bias_gradient.given != 0) {
      strip = int64_t{kBiasVectors} * kernels.lanes;
      strips = divide_up(head_size, strip);
    }
    const int64_t num_heads = problem.output_size / head_size;
    num_tasks = num_weight_tasks() + static_cast<double>(strips) * static_cast<double>(num_heads);
  }

  double num_weight_tasks() const { return static_cast<double>(groups) * static_cast<double>(ranges); }

 private:
  // Groups and ranges of about the same size.
  void set_sizes(const WeightGradientProblem& problem, int64_t panel_columns, int64_t most_outputs,
                 int64_t most_columns) {
    groups = divide_up(problem.output_size, most_outputs);
    outputs = divide_up(problem.output_size, groups);
    groups = divide_up(problem.output_size, outputs);
    ranges = divide_up(panels, std::max<int64_t>(1, most_columns / panel_columns));
    panels_of_task = divide_up(panels, ranges);
    ranges = divide_up(panels, panels_of_task);
  }
};

size_t worker_bytes(const KernelTable& kernels, const WeightGradientProblem& problem, const Cut& cut) {
  const double rows = static_cast<double>(problem.batch) * static_cast<double>(problem.rows);
  const auto most = static_cast<int64_t>(std::min(rows, static_cast<double>(kWeightGradientRows)));
  return round_up_to_alignment(static_cast<size_t>(weight_gradient_floats(most, cut.outputs, kernels.lanes)) *
                               sizeof(float));
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const WeightGradientProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "weight_gradient";
  plan.isa = kernels.isa;
  const Cut cut(kernels, problem, num_workers);
  const double num_rows = static_cast<double>(problem.batch) * static_cast<double>(problem.rows);
  plan_loop_with_scratch(plan, cut.num_tasks, work_of(cost_of(problem)), worker_bytes(kernels, problem, cut),
                         num_workers, num_rows * sizeof(int64_t));
  plan.tile_rows = kernels.linear_tile_rows;
  plan.tile_columns = kernels.linear_panel_columns;
  add_reasons_of_strides(plan, problem.input, problem.weight_gradient, problem.input_size);
  return plan;
}

void run_problem(const KernelTable& kernels, const WeightGradientProblem& problem, const Plan& plan,
                 const Workers& workers, void* scratch) {
  const Cut cut(kernels, problem, workers.num_workers());
  WeightGradientArguments arguments = arguments_of(problem);
  auto* const row_numbers = reinterpret_cast<int64_t*>(shared_scratch(plan, scratch));
  kernels.rows_with_gradient(&arguments, row_numbers, &arguments.num_rows);
  arguments.row_numbers = row_numbers;
  const auto num_weight_tasks = static_cast<int64_t>(cut.num_weight_tasks());
  run_loop_with_scratch(plan, workers, scratch, [&](int64_t index, std::byte* own) {
    if (index < num_weight_tasks) {
      const int64_t first = index / cut.ranges * cut.outputs;
      const int64_t panel = index % cut.ranges * cut.panels_of_task;
      const WeightGradientTask task = {panel, std::min(panel + cut.panels_of_task, cut.panels), first,
                                       std::min(first + cut.outputs, problem.output_size)};
      return kernels.weight_gradient_task(&arguments, &task, reinterpret_cast<float*>(own));
    }
    const int64_t strip = index - num_weight_tasks;
    const int64_t head = strip / cut.strips;
    const int64_t first = strip % cut.strips * cut.strip;
    kernels.bias_gradient_task(&arguments, head * arguments.head_size + first,
                               std::min(cut.strip, arguments.head_size - first));
  });
}

}  // namespace heed::cpu
