// SPDX-License-Identifier: Apache-2.0
// A task is some rows times some packed panels of one part's weight. No result depends on where either is cut, because
// every element of an output is one chain of FMAs.
#include "backends/cpu/linear.h"

#include <algorithm>
#include <cstddef>

#include "backends/cpu/kernel_operand.h"
#include "base/rounding.h"
#include "ops/cost.h"
#include "ops/visible_keys.h"

namespace heed::cpu {
namespace {

// Load balance: with at least 4 tasks for each worker, the last one to finish is late by a quarter of its share at most.
constexpr int64_t kTasksPerWorker = 4;

// All elements of the batch one after the other. As many as can be counted: plans are made for shapes that nobody could
// run.
int64_t rows_of(const LinearProblem& problem) {
  int64_t rows = 0;
  return __builtin_mul_overflow(problem.batch, problem.rows, &rows) ? INT64_MAX / 2 : rows;
}

// Rows that are wanted of all elements of the batch.
int64_t count_wanted(const LinearProblem& problem, WantedRows wanted) {
  if (wanted == WantedRows::All) return rows_of(problem);
  return static_cast<int64_t>(std::min(num_wanted_rows(problem.limits, wanted, problem.batch), 0x1p62));
}

// Tasks of the parts that want the same rows.
struct TaskSet {
  WantedRows wanted = WantedRows::All;
  int64_t num_rows = 0;
  int64_t rows;  // of one task
  int64_t row_blocks;
  int64_t unit;  // panels that stay together
  int32_t num_parts;
  int32_t parts[kMaxLinearParts];   // numbers of these parts in the problem
  int64_t panels[kMaxLinearParts];  // of each of them
  int64_t groups[kMaxLinearParts];  // of units, for each block of rows
  int64_t all_groups;
  double count;  // of all

  // Of a problem that is run.
  int64_t num_tasks() const { return static_cast<int64_t>(count); }

  // A task without the position of its first row; `first_row` gets the number of that row among the wanted ones.
  LinearTask at(int64_t index, int64_t& first_row) const {
    LinearTask task = {};
    first_row = index / all_groups * rows;
    task.num_rows = std::min(rows, num_rows - first_row);
    int64_t group = index % all_groups;
    int32_t i = 0;
    for (; group >= groups[i]; ++i) group -= groups[i];
    task.part = parts[i];
    const int64_t units = divide_up(panels[i], unit);
    const int64_t each = units / groups[i];
    const int64_t longer = units % groups[i];
    const int64_t first = group * each + std::min(group, longer);
    task.first_panel = first * unit;
    task.end_panel = std::min(panels[i], (first + each + (group < longer ? 1 : 0)) * unit);
    return task;
  }
};

// Its parts are set, and the rows that they want.
void cut(const KernelTable& kernels, const LinearProblem& problem, int32_t num_workers, TaskSet& tasks) {
  const int64_t tile = kernels.linear_tile_rows;
  tasks.unit = tasks.num_rows <= tile ? kernels.linear_streams : 1;
  int64_t all_units = 0;
  for (int32_t i = 0; i < tasks.num_parts; ++i) {
    tasks.panels[i] = kernels.linear_panels(problem.parts[tasks.parts[i]].output_size);
    all_units += divide_up(tasks.panels[i], tasks.unit);
  }
  const int64_t wanted = num_workers > 1 ? kTasksPerWorker * num_workers : 1;
  // Where all panels apart are too few, rows are cut further.
  const int64_t row_blocks = std::max(divide_up(tasks.num_rows, kernels.linear_max_rows(problem.input_size)),
                                      divide_up(wanted, std::max<int64_t>(1, all_units)));
  tasks.rows = std::max(tile, round_up(divide_up(tasks.num_rows, row_blocks), tile));
  tasks.row_blocks = divide_up(tasks.num_rows, tasks.rows);
  const int64_t wanted_groups = divide_up(wanted, std::max<int64_t>(1, tasks.row_blocks));
  for (int32_t i = 0; i < tasks.num_parts; ++i) {
    const int64_t units = divide_up(tasks.panels[i], tasks.unit);
    const int64_t fitting = std::max<int64_t>(1, kernels.linear_max_panels(problem.input_size) / tasks.unit);
    tasks.groups[i] = divide_up(units, std::min(fitting, divide_up(all_units, wanted_groups)));
    tasks.all_groups += tasks.groups[i];
  }
  tasks.count = static_cast<double>(tasks.row_blocks) * static_cast<double>(tasks.all_groups);
}

// What plan_linear decides and run_linear obeys.
struct LinearChoice {
  // By WantedRows: how many rows of the whole batch these are, where a part wants them.
  int64_t num_rows[3] = {};
  double work = 0;           // of the call, in FLOPs
  size_t worker_bytes = 0;   // scratch of one worker
  int32_t num_workers = 1;   // for how many the problem is cut
  int32_t with_scratch = 1;  // how many have scratch
};

// How a problem is cut into tasks: those of each set of parts that want the same rows, one set after the other.
struct Cut {
  // The first num_sets are set: a small call notices what clearing them all takes.
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
  // Of two sets of wanted rows the larger contains the smaller. So sets with as many rows are the same rows.
  TaskSet& set_of(const LinearProblem& problem, const LinearChoice& choice, WantedRows wanted) {
    for (int32_t i = 0; i < num_sets; ++i) {
      if (sets[i].wanted == wanted) return sets[i];
    }
    const int64_t num_rows = choice.num_rows[static_cast<size_t>(wanted)];
    for (int32_t i = 0; i < num_sets; ++i) {
      if (sets[i].num_rows == num_rows) return sets[i];
    }
    TaskSet& tasks = sets[num_sets++];
    tasks.wanted = num_rows == rows_of(problem) ? WantedRows::All : wanted;
    tasks.num_rows = num_rows;
    tasks.num_parts = 0;
    tasks.all_groups = 0;
    return tasks;
  }
};

// The tables of wanted rows that a problem may need: one for each answer but All.
constexpr int32_t kMaxTables = 2;

// Of one table. Elements of a batch whose table no memory could hold are not counted: plans are made for shapes that
// nobody could run.
size_t table_bytes(const LinearProblem& problem) {
  constexpr int64_t kMaxCounted = int64_t{1} << 56;
  return round_up_to_alignment(static_cast<size_t>(std::min(problem.batch, kMaxCounted)) * sizeof(RowRange));
}

// Where there are limits, all tables have room, whatever the parts want: so a part by itself takes no less than all
// together. Batch elements without rows, or without queries that want any, need no memory, however many they are.
size_t all_table_bytes(const LinearProblem& problem) {
  const bool any = problem.rows > 0 && problem.limits.num_queries > 0 && problem.limits.num_keys > 0;
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

// Sets where the task's first row is, given its number among those that are wanted.
void find_first_row(const LinearArguments& arguments, int64_t batch, int64_t row, LinearTask& task) {
  const RowRange* table = arguments.parts[task.part].ranges;
  if (table == nullptr) {
    task.first_batch = row / arguments.rows;
    task.first_row = row % arguments.rows;
    return;
  }
  // The last batch element before which there are not more: those without rows have as many before them as the next.
  const RowRange* next = std::upper_bound(table, table + batch, row,
                                          [](int64_t number, const RowRange& range) { return number < range.before; });
  task.first_batch = next - table - 1;
  task.first_row = table[task.first_batch].first + (row - table[task.first_batch].before);
}

// The largest that a part alone takes: a task belongs to one.
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

// How many workers have scratch. Depends on the sizes of the largest part alone, as if all parts were as large, so that
// several parts in one problem need no more scratch than each by itself.
int32_t num_with_scratch(const LinearProblem& problem, int32_t num_workers) {
  int64_t output_size = 0;
  for (int32_t i = 0; i < problem.num_parts; ++i) output_size = std::max(output_size, problem.parts[i].output_size);
  const double rows = static_cast<double>(problem.batch) * static_cast<double>(problem.rows);
  const auto width = static_cast<double>(output_size);
  const auto depth = static_cast<double>(problem.input_size);
  const Cost most = {.flops = 2 * rows * depth * width,
                     .bytes = sizeof(float) * (rows * depth + (depth + 1) * width + rows * width)};
  constexpr double kManyItems = 2;
  return Workers::num_with_scratch(kManyItems, kMaxLinearParts * work_of(most), num_workers);
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
  return arguments;
}

// Batch elements of one row each, as when text is generated, become the rows of one element.
void put_rows_together(const LinearProblem& problem, LinearArguments& arguments) {
  arguments.rows = problem.batch;
  arguments.input.strides[2] = arguments.input.strides[1];
  for (int32_t i = 0; i < problem.num_parts; ++i)
    arguments.parts[i].output.strides[2] = arguments.parts[i].output.strides[1];
}

}  // namespace

Plan plan_linear(const KernelTable& kernels, const LinearProblem& problem, int32_t num_workers) {
  LinearChoice choice;
  choice.num_workers = num_workers;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const WantedRows wanted = problem.parts[i].wanted_rows;
    const bool is_counted = i > 0 && wanted == problem.parts[i - 1].wanted_rows;
    if (!is_counted) choice.num_rows[static_cast<size_t>(wanted)] = count_wanted(problem, wanted);
  }
  choice.work = work_of(cost_of(problem));
  choice.worker_bytes = worker_bytes(kernels, problem);
  choice.with_scratch = num_with_scratch(problem, num_workers);
  const Cut cut(kernels, problem, choice);
  Plan plan;
  plan.kernel = "tiled";
  plan.isa = kernels.isa;
  plan.scratch_bytes = choice.worker_bytes * static_cast<size_t>(choice.with_scratch) + all_table_bytes(problem);
  plan.num_tasks = static_cast<int64_t>(std::min(cut.count, 0x1p62));
  plan.num_threads = Workers::num_wanted(plan.num_tasks, choice.work, num_workers);
  set_choice(plan, choice);
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

void run_linear(const KernelTable& kernels, const LinearProblem& problem, const Plan& plan, const Workers& workers,
                void* scratch) {
  // Batch elements without rows need no memory, so there may be more of them than anyone can count to.
  if (problem.rows == 0) return;
  const auto& choice = choice_of<LinearChoice>(plan);
  const Cut cut(kernels, problem, choice);
  LinearArguments arguments = arguments_of(problem);
  const size_t bytes = choice.worker_bytes;
  auto* memory = static_cast<std::byte*>(scratch);
  std::byte* table = memory + bytes * static_cast<size_t>(choice.with_scratch);
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
  if (problem.rows == 1 && problem.batch > 1 && !has_tables) put_rows_together(problem, arguments);
  workers.for_each(plan.num_tasks, plan.num_threads, choice.work, [&](int64_t index, int32_t worker) {
    int64_t first_row = 0;
    LinearTask task = cut.at(index, first_row);
    find_first_row(arguments, problem.batch, first_row, task);
    kernels.linear_task(&arguments, &task, memory + bytes * static_cast<size_t>(worker));
  });
}

size_t packed_linear_bytes(const KernelTable& kernels, const LinearPart& part, int64_t input_size) {
  return kernels.packed_linear_bytes(part.output_size, input_size, part.weight.dtype);
}

void pack_linear(const KernelTable& kernels, const LinearPart& part, int64_t input_size, const WeightBlock& block,
                 void* packed) {
  PackArguments arguments = {};
  set_operand(arguments.block, part.weight);
  arguments.output_size = part.output_size;
  arguments.input_size = input_size;
  arguments.first_row = block.first_row;
  arguments.end_row = block.end_row;
  arguments.first_input = block.first_input;
  arguments.end_input = block.end_input;
  arguments.packed = packed;
  kernels.pack_linear(&arguments);
}

}  // namespace heed::cpu
