// SPDX-License-Identifier: Apache-2.0
// A task adds the places of some rows of the table, in some columns, in the order of the places. So no element is summed by two.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/zero_rows.h"
#include "base/rounding.h"

namespace heed::cpu {
namespace {

// The columns of a task: some cache lines.
constexpr int64_t kColumns = 256;
constexpr int64_t kTableTasksPerWorker = 4;
// A power of 2: table row i belongs to the tasks of group i % groups. Each task reads all ids.
constexpr int64_t kMostGroups = 16;
// The table's rows that become 0 together.
constexpr int64_t kZeroedElements = int64_t{1} << 16;

// How the table's gradient is cut into tasks.
struct TableCut {
  int64_t ranges = 0;  // of columns
  int64_t groups = 1;  // of table rows

  TableCut(const EmbeddingBackwardProblem& problem, int32_t num_workers) {
    ranges = divide_up(problem.sizes[kRowAxis], kColumns);
    while (num_workers > 1 && groups < kMostGroups && ranges * groups < kTableTasksPerWorker * num_workers) groups *= 2;
  }
};

void zero_table(const EmbeddingBackwardProblem& problem, const Workers& workers) {
  const int64_t size = problem.sizes[kRowAxis];
  const int64_t rows = std::max<int64_t>(1, kZeroedElements / size);
  const int64_t num_tasks = divide_up(problem.num_table_rows, rows);
  const double work = work_of(
      {.flops = 0, .bytes = sizeof(float) * static_cast<double>(size) * static_cast<double>(problem.num_table_rows)});
  const int32_t num_threads = Workers::num_wanted(num_tasks, work, workers.num_workers());
  workers.for_each(num_tasks, num_threads, work, [&](int64_t task) {
    zero_rows(problem.table_gradient, {0, 0, 0, 0}, {task * rows, std::min(problem.num_table_rows, (task + 1) * rows)},
              size);
  });
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const EmbeddingBackwardProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "add_rows";
  plan.isa = kernels.isa;
  const TableCut cut(problem, num_workers);
  plan_loop(plan, static_cast<double>(cut.ranges * cut.groups), work_of(cost_of(problem)), num_workers);
  add_reasons_of_strides(plan, problem.output_gradient, problem.output_gradient, problem.sizes[kRowAxis]);
  return plan;
}

void run_problem(const KernelTable& kernels, const EmbeddingBackwardProblem& problem, const Plan& plan,
                 const Workers& workers, void*) {
  const int64_t size = problem.sizes[kRowAxis];
  if (size == 0 || problem.num_table_rows == 0) return;
  if (problem.accumulates == 0) zero_table(problem, workers);
  const auto num_places = static_cast<int64_t>(count_rows(problem.sizes));
  const TableCut cut(problem, workers.num_workers());
  run_loop(plan, workers, [&](int64_t task) {
    const int64_t first = task % cut.ranges * kColumns;
    const int64_t group = task / cut.ranges;
    const Operand& table = problem.table_gradient;
    for (int64_t place = 0; place < num_places; ++place) {
      const int32_t id = problem.ids[place];
      if (id < 0 || (id & (cut.groups - 1)) != group) continue;
      const StridedRow from = row_of(problem.sizes, problem.output_gradient, place, first);
      const StridedRow to = {static_cast<float*>(table.data) + id * table.strides[2] + first * table.strides[3],
                             table.strides[3], DType::F32};
      kernels.scale_row(&from, &to, &to, std::min(kColumns, size - first), problem.scale);
    }
  });
}

}  // namespace heed::cpu
