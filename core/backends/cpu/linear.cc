// SPDX-License-Identifier: Apache-2.0
// A task computes a range of rows times a range of packed panels of one part's weight. Every output element is one
// chain of FMAs, so the result does not depend on how rows and panels are cut.
#include "backends/cpu/linear.h"

#include <algorithm>
#include <cstddef>

#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/width.h"
#include "backends/cpu/zero_rows.h"
#include "base/rounding.h"
#include "ops/cost.h"
#include "ops/visible_keys.h"

namespace heed::cpu {
namespace {

// Load balance: with at least 4 tasks for each worker, the last one to finish is late by a quarter of its share at
// most.
constexpr int64_t kTasksPerWorker = 4;

// The rows of all batch elements, at most INT64_MAX / 2: plans are also made for shapes that are too large to run.
int64_t rows_of(const LinearProblem& problem) {
  int64_t rows = 0;
  return __builtin_mul_overflow(problem.batch, problem.rows, &rows) ? INT64_MAX / 2 : rows;
}

// The number of wanted rows in the whole batch.
int64_t count_wanted(const LinearProblem& problem, WantedRows wanted) {
  if (wanted == WantedRows::All) return rows_of(problem);
  return static_cast<int64_t>(std::min(num_wanted_rows(problem.limits, wanted, problem.batch), 0x1p62));
}

// The tasks of all parts that want the same rows.
struct TaskSet {
  WantedRows wanted = WantedRows::All;
  int64_t num_rows = 0;
  int64_t rows;  // of one task
  int64_t row_blocks;
  int32_t num_parts;
  int32_t parts[kMaxLinearParts];   // indices of these parts in the problem
  int64_t panels[kMaxLinearParts];  // the number of panels of each part
  int64_t unit[kMaxLinearParts];    // the number of adjacent panels of each part that stay in one task
  int64_t units[kMaxLinearParts];   // the number of units of each part; the last one may have fewer panels, or one more
  int64_t groups[kMaxLinearParts];  // the number of groups of units of each part, for each block of rows
  int64_t all_groups;
  double count;  // of all tasks

  // Only for problems that are run.
  int64_t num_tasks() const { return static_cast<int64_t>(count); }

  // The task at an index, with first_batch and first_row still to be set. `first_row` becomes the number of its first
  // row, counted in the wanted rows.
  LinearTask at(int64_t index, int64_t& first_row) const {
    LinearTask task = {};
    first_row = index / all_groups * rows;
    task.num_rows = std::min(rows, num_rows - first_row);
    int64_t group = index % all_groups;
    int32_t i = 0;
    for (; group >= groups[i]; ++i) group -= groups[i];
    task.part = parts[i];
    const int64_t each = units[i] / groups[i];
    const int64_t longer = units[i] % groups[i];
    const int64_t first = group * each + std::min(group, longer);
    const int64_t end = first + each + (group < longer ? 1 : 0);
    task.first_panel = first * unit[i];
    task.end_panel = end == units[i] ? panels[i] : end * unit[i];
    return task;
  }
};

// Cuts a set, in which the parts and the number of rows are set, into tasks.
void cut(const KernelTable& kernels, const LinearProblem& problem, int32_t num_workers, TaskSet& tasks) {
  const int64_t tile = kernels.linear_tile_rows;
  int64_t all_units = 0;
  for (int32_t i = 0; i < tasks.num_parts; ++i) {
    const LinearPart& part = problem.parts[tasks.parts[i]];
    const bool has_heads = part.transform.is_given();
    tasks.panels[i] = kernels.linear_panels(part.output_size);
    tasks.unit[i] = has_heads                ? kernels.linear_head_unit(part.head_size)
                    : tasks.num_rows <= tile ? kernels.linear_streams
                                             : 1;
    tasks.units[i] = divide_up(tasks.panels[i], tasks.unit[i]);
    if (has_heads && tasks.units[i] > 1 && tasks.panels[i] % tasks.unit[i] == 1) --tasks.units[i];
    all_units += tasks.units[i];
  }
  const int64_t wanted = num_workers > 1 ? kTasksPerWorker * num_workers : 1;
  // If single panels make too few tasks, cut the rows further.
  const int64_t row_blocks = std::max(divide_up(tasks.num_rows, kernels.linear_max_rows(problem.input_size)),
                                      divide_up(wanted, std::max<int64_t>(1, all_units)));
  tasks.rows = std::max(tile, round_up(divide_up(tasks.num_rows, row_blocks), tile));
  tasks.row_blocks = divide_up(tasks.num_rows, tasks.rows);
  const int64_t wanted_groups = divide_up(wanted, std::max<int64_t>(1, tasks.row_blocks));
  for (int32_t i = 0; i < tasks.num_parts; ++i) {
    const int64_t fitting = std::max<int64_t>(1, kernels.linear_max_panels(problem.input_size) / tasks.unit[i]);
    tasks.groups[i] = divide_up(tasks.units[i], std::min(fitting, divide_up(all_units, wanted_groups)));
    tasks.all_groups += tasks.groups[i];
  }
  tasks.count = static_cast<double>(tasks.row_blocks) * static_cast<double>(tasks.all_groups);
}

// What plan_linear decides and run_linear follows.
struct LinearChoice {
  // By WantedRows: the number of wanted rows in the whole batch, if a part wants them.
  int64_t num_rows[4] = {};
  double work = 0;          // of the call, in FLOPs
  ScratchLayout scratch;    // the workers share the tables of wanted rows
  int32_t num_workers = 1;  // the number for which the problem is cut
};

// How a problem is cut into tasks: one TaskSet after another, one for all parts that want the same rows.
struct Cut {
  // Only the first num_sets are initialized: clearing all of them would take a noticeable part of a small call.
  TaskSet sets[kMaxLinearParts];
  int32_t num_sets = 0;
  double count = 0;

  Cut(const KernelTable& kernels, const LinearProblem& problem, const LinearChoice& choice) {
    for (int32_t i = 0; i < problem.num_parts; ++i) {
      TaskSet& tasks = set_of(problem, choice, problem.parts[i].wanted_rows);
      tasks.parts[tasks.num_parts++] = i;
    }
    for (int32_t i = 0; i < num_sets; ++i) {
      cut(kernels, problem, choice.num_workers, sets[i]);
      count += sets[i].count;
    }
  }

  LinearTask at(int64_t index, int64_t& first_row) const {
    const TaskSet* tasks = sets;
    for (; index >= tasks->num_tasks(); ++tasks) index -= tasks->num_tasks();
    return tasks->at(index, first_row);
  }

 private:
  // Of two sets of wanted keys one contains the other. So sets with equally many rows are equal.
  TaskSet& set_of(const LinearProblem& problem, const LinearChoice& choice, WantedRows wanted) {
    for (int32_t i = 0; i < num_sets; ++i) {
      if (sets[i].wanted == wanted) return sets[i];
    }
    const int64_t num_rows = choice.num_rows[static_cast<size_t>(wanted)];
    for (int32_t i = 0; i < num_sets; ++i) {
      const bool are_both_keys = wanted != WantedRows::Queries && sets[i].wanted != WantedRows::Queries;
      if (sets[i].num_rows == num_rows && (are_both_keys || num_rows == rows_of(problem))) return sets[i];
    }
    TaskSet& tasks = sets[num_sets++];
    tasks.wanted = num_rows == rows_of(problem) ? WantedRows::All : wanted;
    tasks.num_rows = num_rows;
    tasks.num_parts = 0;
    tasks.all_groups = 0;
    return tasks;
  }
};

// The largest number of tables of wanted rows in a problem: one for each value of WantedRows except All.
constexpr int32_t kMaxTables = 3;

// The bytes of one table. The batch is limited to avoid overflow: plans are also made for shapes that are too large to
// run.
size_t table_bytes(const LinearProblem& problem) {
  constexpr int64_t kMaxCounted = int64_t{1} << 56;
  return round_up_to_alignment(static_cast<size_t>(std::min(problem.batch, kMaxCounted)) * sizeof(RowRange));
}

// With limits there is room for all tables, whatever the parts want, so that a single part does not need less scratch
// than all together. Without rows or queries there is no table, and without keys only one of queries in a ragged batch:
// batch elements of other batches take no memory, so their number may be huge.
size_t all_table_bytes(const LinearProblem& problem) {
  const KeyLimits& limits = problem.limits;
  const bool any = problem.rows > 0 && limits.num_queries > 0 && (limits.num_keys > 0 || limits.has_table != 0);
  return any ? kMaxTables * table_bytes(problem) : 0;
}

void fill_table(const LinearProblem& problem, WantedRows wanted, RowRange* table) {
  int64_t before = 0;
  for (int64_t s = 0; s < problem.batch; ++s) {
    const KeyRange rows = wanted_rows(problem.limits, wanted, s);
    table[s] = {rows.first, rows.end, before};
    before += rows.size();
  }
}

// Sets the task's first batch element and row from the number `row`, counted in the wanted rows.
void find_first_row(const LinearArguments& arguments, int64_t batch, int64_t row, LinearTask& task) {
  const RowRange* table = arguments.parts[task.part].ranges;
  if (table == nullptr) {
    task.first_batch = row / arguments.rows;
    task.first_row = row % arguments.rows;
    return;
  }
  // The last batch element with at most `row` wanted rows before it. An element without wanted rows is skipped, since
  // the next one has as many rows before it.
  const RowRange* next = std::upper_bound(table, table + batch, row,
                                          [](int64_t number, const RowRange& range) { return number < range.before; });
  task.first_batch = next - table - 1;
  task.first_row = table[task.first_batch].first + (row - table[task.first_batch].before);
}

// The maximum over the parts, since a task belongs to one part.
size_t worker_bytes(const KernelTable& kernels, const LinearProblem& problem) {
  const int64_t rows = std::min(rows_of(problem), kernels.linear_max_rows(problem.input_size));
  size_t most = 0;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    const int64_t panels = kernels.linear_panels(part.output_size);
    const int64_t head_size = part.transform.is_given() ? part.head_size : 0;
    most = std::max(most, kernels.linear_scratch_bytes(problem.input_size, rows, panels, part.is_packed, head_size));
  }
  return round_up_to_alignment(most);
}

// The number of workers with scratch. It depends only on the largest part, as if all parts were of that size, so that
// several parts in one problem need no more scratch than one problem for each part.
int32_t num_with_scratch(const LinearProblem& problem, int32_t num_workers) {
  int64_t output_size = 0;
  for (int32_t i = 0; i < problem.num_parts; ++i) output_size = std::max(output_size, problem.parts[i].output_size);
  const double rows = static_cast<double>(problem.batch) * static_cast<double>(problem.rows);
  const auto width = static_cast<double>(output_size);
  const auto depth = static_cast<double>(problem.input_size);
  const Cost most = {.flops = 2 * rows * depth * width,
                     .bytes = sizeof(float) * (rows * depth + (depth + 1) * width + rows * width)};
  constexpr double kManyTasks = 2;
  return Workers::num_with_scratch(kManyTasks, kMaxLinearParts * work_of(most), num_workers);
}

// An axis that is repeated or of size 1 has stride 0.
bool is_contiguous(int64_t stride, int64_t size) { return stride == 1 || size <= 1; }

LinearArguments arguments_of(const LinearProblem& problem) {
  LinearArguments arguments = {};
  arguments.rows = problem.rows;
  arguments.input_size = problem.input_size;
  copy_operand(arguments.input, problem.input);
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    LinearPartArguments& to = arguments.parts[i];
    to.output_size = part.output_size;
    // Adjacent heads are treated as one head.
    const auto are_adjacent = [&part](const Operand& operand) {
      return operand.given == 0 || operand.strides[0] == part.head_size * operand.strides[3];
    };
    const bool is_one_head =
        are_adjacent(part.output) && are_adjacent(part.factor) && are_adjacent(part.addend) && are_adjacent(part.sum);
    to.head_size = is_one_head ? part.output_size : part.head_size;
    copy_operand(to.weight, part.weight);
    copy_operand(to.bias, part.bias);
    copy_operand(to.output, part.output);
    to.activation = part.activation;
    to.scale = part.scale;
    to.soft_cap = part.soft_cap;
    copy_operand(to.factor, part.factor);
    copy_operand(to.addend, part.addend);
    copy_operand(to.sum, part.sum);
    to.packed = part.is_packed != 0 ? part.packed : nullptr;
    if (!part.transform.is_given()) continue;
    to.transform = &part.transform;
    to.transform_head_size = part.head_size;
  }
  return arguments;
}

// If each batch element has one row, as in text generation, makes them rows of one batch element.
void merge_single_row_batch(const LinearProblem& problem, LinearArguments& arguments) {
  arguments.rows = problem.batch;
  arguments.input.strides[2] = arguments.input.strides[1];
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    LinearPartArguments& part = arguments.parts[i];
    for (Operand* operand : {&part.output, &part.factor, &part.addend, &part.sum})
      operand->strides[2] = operand->strides[1];
  }
}

// Whether the rows of a batch of single rows are one axis in the operands of all transforms too.
bool transforms_allow_merging(const LinearProblem& problem) {
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    if (problem.parts[i].transform.rotations.given != 0) return false;
  }
  return true;
}

// Sets the rows of a part's output that are not wanted to 0.
void zero_unwanted(const LinearProblem& problem, const LinearPart& part) {
  for (int64_t s = 0; s < problem.batch; ++s) {
    const KeyRange wanted = wanted_rows(problem.limits, part.wanted_rows, s);
    for (int64_t head = 0; head < part.output_size / part.head_size; ++head) {
      zero_rows(part.output, {head, s, 0, 0}, {0, wanted.first}, part.head_size);
      zero_rows(part.output, {head, s, 0, 0}, {wanted.end, problem.rows}, part.head_size);
    }
  }
}

PackArguments pack_arguments(const LinearPart& part, int64_t input_size, const WeightBlock& block, void* packed) {
  PackArguments arguments = {};
  copy_operand(arguments.block, part.weight);
  arguments.output_size = part.output_size;
  arguments.input_size = input_size;
  arguments.first_row = block.first_row;
  arguments.end_row = block.end_row;
  arguments.first_input = block.first_input;
  arguments.end_input = block.end_input;
  arguments.packed = packed;
  return arguments;
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const LinearProblem& problem, int32_t num_workers) {
  require_width("the input size of a projection or the inner size of a product", problem.input_size);
  LinearChoice choice;
  choice.num_workers = num_workers;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const WantedRows wanted = problem.parts[i].wanted_rows;
    const bool is_counted = i > 0 && wanted == problem.parts[i - 1].wanted_rows;
    if (!is_counted) choice.num_rows[static_cast<size_t>(wanted)] = count_wanted(problem, wanted);
  }
  choice.work = work_of(cost_of(problem));
  choice.scratch = {.worker_bytes = worker_bytes(kernels, problem),
                    .shared_bytes = all_table_bytes(problem),
                    .num_workers = num_with_scratch(problem, num_workers)};
  const Cut cut(kernels, problem, choice);
  Plan plan;
  plan.kernel = "tiled";
  plan.isa = kernels.isa;
  plan.scratch_bytes = choice.scratch.num_bytes();
  plan.num_tasks = static_cast<int64_t>(std::min(cut.count, 0x1p62));
  plan.num_threads = choice.scratch.limit(Workers::num_wanted(plan.num_tasks, choice.work, num_workers));
  set_choice(plan, choice);
  plan.tile_rows = kernels.linear_tile_rows;
  plan.tile_columns = kernels.linear_panel_columns;
  if (!is_contiguous(problem.input.strides[3], problem.input_size))
    plan.add_reason("the elements of the input's last axis do not lie side by side (stride 1), so they are gathered");
  bool gathers_weight = false;
  bool scatters_output = false;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    // For a product's second operand, contiguous elements in either axis suffice.
    gathers_weight =
        gathers_weight || (part.is_packed == 0 && !is_contiguous(part.weight.strides[2], part.output_size) &&
                           !is_contiguous(part.weight.strides[3], problem.input_size));
    scatters_output = scatters_output || !is_contiguous(part.output.strides[3], part.head_size);
  }
  if (gathers_weight)
    plan.add_reason("the elements of the weight lie side by side (stride 1) in neither axis, so they are gathered");
  if (scatters_output)
    plan.add_reason("the elements of the output's last axis do not lie side by side (stride 1), so they are scattered");
  return plan;
}

void run_problem(const KernelTable& kernels, const LinearProblem& problem, const Plan& plan, const Workers& workers,
                 void* memory) {
  // Batch elements without rows take no memory, so their number may exceed any counter.
  if (problem.rows == 0) return;
  const auto& choice = choice_of<LinearChoice>(plan);
  const Cut cut(kernels, problem, choice);
  LinearArguments arguments = arguments_of(problem);
  const Scratch scratch(choice.scratch, memory);
  std::byte* table = scratch.shared();
  bool has_tables = false;
  for (int32_t i = 0; i < cut.num_sets; ++i) {
    const TaskSet& tasks = cut.sets[i];
    if (tasks.wanted == WantedRows::All || tasks.num_rows == 0) continue;
    auto* ranges = reinterpret_cast<RowRange*>(table);
    fill_table(problem, tasks.wanted, ranges);
    for (int32_t part = 0; part < tasks.num_parts; ++part) arguments.parts[tasks.parts[part]].ranges = ranges;
    table += table_bytes(problem);
    has_tables = true;
  }
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    if (problem.parts[i].zeroes_unwanted != 0) zero_unwanted(problem, problem.parts[i]);
  }
  if (problem.rows == 1 && problem.batch > 1 && !has_tables && transforms_allow_merging(problem))
    merge_single_row_batch(problem, arguments);
  workers.for_each(scratch, plan.num_tasks, plan.num_threads, choice.work, [&](int64_t index, std::byte* own) {
    int64_t first_row = 0;
    LinearTask task = cut.at(index, first_row);
    find_first_row(arguments, problem.batch, first_row, task);
    kernels.linear_task(&arguments, &task, own);
  });
}

size_t packed_linear_bytes(const KernelTable& kernels, const LinearPart& part, int64_t input_size) {
  return kernels.packed_linear_bytes(part.output_size, input_size, part.weight.dtype);
}

void pack_linear(const KernelTable& kernels, const LinearPart& part, int64_t input_size, const WeightBlock& block,
                 void* packed) {
  const PackArguments arguments = pack_arguments(part, input_size, block, packed);
  kernels.pack_linear(&arguments);
}

void unpack_linear(const KernelTable& kernels, const LinearPart& part, int64_t input_size, const WeightBlock& block,
                   const void* packed) {
  const PackArguments arguments = pack_arguments(part, input_size, block, const_cast<void*>(packed));
  kernels.unpack_linear(&arguments);
}

}  // namespace heed::cpu
