// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "backends/cpu/clear_row.h"
#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"

namespace heed::cpu {
namespace {

StridedRow table_row(const KernelTable& kernels, const EmbeddingProblem& problem, int64_t id) {
  const Operand& table = problem.table;
  const void* data = table.data;
  PackedRow row = {id * table.strides[2], table.strides[3]};
  if (problem.packed_table != nullptr) {
    data = problem.packed_table;
    row = kernels.packed_row(problem.num_table_rows, problem.sizes[kRowAxis], id);
  }
  auto* const first =
      static_cast<std::byte*>(const_cast<void*>(data)) + row.first * static_cast<int64_t>(size_of(table.dtype));
  return {first, row.stride, table.dtype};
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const EmbeddingProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "copy_rows";
  plan.isa = kernels.isa;
  const double work = work_of(cost_of(problem));
  plan_loop(plan, count_tasks_of_rows(problem.sizes), work, num_workers);
  add_reasons_of_strides(plan, problem.addend, problem.output, problem.sizes[kRowAxis]);
  return plan;
}

void run_problem(const KernelTable& kernels, const EmbeddingProblem& problem, const Plan& plan, const Workers& workers,
                 void*) {
  if (count_elements(problem.sizes) == 0) return;
  const auto num_rows = static_cast<int64_t>(count_rows(problem.sizes));
  const int64_t size = problem.sizes[kRowAxis];
  const int64_t task_rows = rows_of_task(problem.sizes[kRowAxis]);
  run_loop(plan, workers, [&](int64_t task) {
    const int64_t end = std::min(num_rows, (task + 1) * task_rows);
    for (int64_t row = task * task_rows; row < end; ++row) {
      const StridedRow to = row_of(problem.sizes, problem.output, row, 0);
      if (problem.has_gaps != 0 && problem.ids[row] < 0) {
        clear_row(to, size);
        continue;
      }
      const StridedRow from = table_row(kernels, problem, problem.ids[row]);
      if (problem.scale == 1 && problem.addend.given == 0) {
        kernels.copy_row(&from, &to, size);
        continue;
      }
      StridedRow addend = {};
      if (problem.addend.given != 0) addend = row_of(problem.sizes, problem.addend, row, 0);
      kernels.scale_row(&from, &addend, &to, size, problem.scale);
    }
  });
}

}  // namespace heed::cpu
