// SPDX-License-Identifier: Apache-2.0
// An item of the work is some rows times some panels of one part's weight. No result depends on where either is cut:
// every element of an output is one chain of FMAs.
#include "backends/cpu/linear.h"

#include <algorithm>
#include <cstddef>

#include "attention/cost.h"
#include "backends/cpu/kernel_operand.h"
#include "base/rounding.h"

namespace heed::cpu {
namespace {

// So that whoever is late has only a small item to finish.
constexpr int64_t kItemsPerWorker = 4;

// All items of the batch one after the other. As many as can be counted: plans are made for shapes that nobody could
// run.
int64_t rows_of(const LinearProblem& problem) {
  int64_t rows = 0;
  return __builtin_mul_overflow(problem.batch, problem.rows, &rows) ? INT64_MAX / 2 : rows;
}

// How a problem is cut into items.
struct Items {
  int64_t num_rows;
  int64_t rows;  // of one item
  int64_t row_blocks;
  int64_t unit;                     // panels that stay together
  int64_t panels[kMaxLinearParts];  // of each part
  int64_t groups[kMaxLinearParts];  // of units, for each block of rows
  int64_t all_groups;
  double count;  // of all

  LinearItem at(int64_t index) const {
    LinearItem item = {};
    item.first_row = index / all_groups * rows;
    item.end_row = std::min(num_rows, item.first_row + rows);
    int64_t group = index % all_groups;
    for (; group >= groups[item.part]; ++item.part) group -= groups[item.part];
    const int64_t units = divide_up(panels[item.part], unit);
    const int64_t each = units / groups[item.part];
    const int64_t longer = units % groups[item.part];
    const int64_t first = group * each + std::min(group, longer);
    item.first_panel = first * unit;
    item.end_panel = std::min(panels[item.part], (first + each + (group < longer ? 1 : 0)) * unit);
    return item;
  }
};

Items cut(const KernelTable& kernels, const LinearProblem& problem, int32_t num_workers) {
  Items items = {};
  items.num_rows = rows_of(problem);
  const int64_t tile = kernels.linear_tile_rows;
  items.unit = items.num_rows <= tile ? kernels.linear_streams : 1;
  int64_t all_units = 0;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    items.panels[i] = kernels.linear_panels(problem.parts[i].output_size);
    all_units += divide_up(items.panels[i], items.unit);
  }
  const int64_t wanted = num_workers > 1 ? kItemsPerWorker * num_workers : 1;
  // Where all panels apart are too few, rows are cut further.
  const int64_t row_blocks = std::max(divide_up(items.num_rows, kernels.linear_max_rows(problem.input_size)),
                                      divide_up(wanted, std::max<int64_t>(1, all_units)));
  items.rows = std::max(tile, round_up(divide_up(items.num_rows, row_blocks), tile));
  items.row_blocks = divide_up(items.num_rows, items.rows);
  const int64_t wanted_groups = divide_up(wanted, std::max<int64_t>(1, items.row_blocks));
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const int64_t units = divide_up(items.panels[i], items.unit);
    const int64_t fitting = std::max<int64_t>(1, kernels.linear_max_panels(problem.input_size) / items.unit);
    items.groups[i] = divide_up(units, std::min(fitting, divide_up(all_units, wanted_groups)));
    items.all_groups += items.groups[i];
  }
  items.count = static_cast<double>(items.row_blocks) * static_cast<double>(items.all_groups);
  return items;
}

// The largest that a part alone takes: an item belongs to one.
size_t worker_bytes(const KernelTable& kernels, const LinearProblem& problem) {
  const int64_t rows = std::min(rows_of(problem), kernels.linear_max_rows(problem.input_size));
  size_t most = 0;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    const int64_t panels = kernels.linear_panels(part.output_size);
    most = std::max(most, kernels.linear_scratch_bytes(problem.input_size, rows, panels, part.is_packed));
  }
  return round_up_to_alignment(most);
}

// Strides of axes that are repeated or have one element are 0.
bool lies_side_by_side(int64_t stride, int64_t size) { return stride == 1 || size <= 1; }

LinearArguments arguments_of(const LinearProblem& problem) {
  LinearArguments arguments = {};
  arguments.rows = problem.rows;
  arguments.input_size = problem.input_size;
  set_operand(arguments.input, problem.input);
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    LinearPartArguments& to = arguments.parts[i];
    to.output_size = part.output_size;
    // Heads that lie side by side are one.
    to.head_size =
        part.output.strides[0] == part.head_size * part.output.strides[3] ? part.output_size : part.head_size;
    set_operand(to.weight, part.weight);
    set_operand(to.bias, part.bias);
    set_operand(to.output, part.output);
    to.packed = part.is_packed != 0 ? part.packed : nullptr;
  }
  // Many batch items of one row, as when text is generated, are rows like others.
  if (problem.rows == 1 && problem.batch > 1) {
    arguments.rows = problem.batch;
    arguments.input.strides[2] = arguments.input.strides[1];
    for (int32_t i = 0; i < problem.num_parts; ++i)
      arguments.parts[i].output.strides[2] = arguments.parts[i].output.strides[1];
  }
  return arguments;
}

}  // namespace

Plan plan_linear(const KernelTable& kernels, const LinearProblem& problem, int32_t num_workers) {
  const Items items = cut(kernels, problem, num_workers);
  Plan plan;
  plan.kernel = "tiled";
  plan.isa = kernels.isa;
  plan.scratch_bytes = worker_bytes(kernels, problem) * static_cast<size_t>(num_workers);
  plan.num_items = static_cast<int64_t>(std::min(items.count, 0x1p62));
  plan.num_threads = Workers::num_wanted(plan.num_items, work_of(cost_of(problem)), num_workers);
  plan.tile_rows = kernels.linear_tile_rows;
  plan.tile_columns = kernels.linear_panel_columns;
  if (!lies_side_by_side(problem.input.strides[3], problem.input_size))
    plan.add_reason("the elements of the input's last axis do not lie side by side (stride 1), so they are gathered");
  bool gathers_weight = false;
  bool scatters_output = false;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    // Side by side in one of its two axes is enough for the second operand of a product.
    gathers_weight =
        gathers_weight || (part.is_packed == 0 && !lies_side_by_side(part.weight.strides[2], part.output_size) &&
                           !lies_side_by_side(part.weight.strides[3], problem.input_size));
    scatters_output = scatters_output || !lies_side_by_side(part.output.strides[3], part.head_size);
  }
  if (gathers_weight)
    plan.add_reason("the elements of the weight lie side by side (stride 1) in neither axis, so they are gathered");
  if (scatters_output)
    plan.add_reason("the elements of the output's last axis do not lie side by side (stride 1), so they are scattered");
  return plan;
}

void run_linear(const KernelTable& kernels, const LinearProblem& problem, const Workers& workers, void* scratch) {
  // Items without rows need no memory, so there may be more of them than anyone can count to.
  if (problem.rows == 0) return;
  const Items items = cut(kernels, problem, workers.num_workers());
  const LinearArguments arguments = arguments_of(problem);
  const size_t bytes = worker_bytes(kernels, problem);
  workers.for_each(static_cast<int64_t>(items.count), work_of(cost_of(problem)), [&](int64_t index, int32_t worker) {
    const LinearItem item = items.at(index);
    kernels.linear_item(&arguments, &item, static_cast<std::byte*>(scratch) + bytes * static_cast<size_t>(worker));
  });
}

size_t packed_linear_bytes(const KernelTable& kernels, const LinearPart& part, int64_t input_size) {
  return kernels.packed_linear_bytes(part.output_size, input_size, static_cast<int32_t>(part.weight.dtype));
}

void pack_linear(const KernelTable& kernels, const LinearPart& part, int64_t input_size, void* packed) {
  KernelOperand weight = {};
  set_operand(weight, part.weight);
  kernels.pack_linear(&weight, part.output_size, input_size, packed);
}

}  // namespace heed::cpu
