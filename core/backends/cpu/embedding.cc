// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/embedding.h"

#include <algorithm>
#include <cstddef>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/planned_loop.h"

namespace heed::cpu {

Plan plan_embedding(const KernelTable& kernels, const EmbeddingProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "copy_rows";
  plan.isa = kernels.isa;
  const double work = work_of(cost_of(problem));
  plan_loop(plan, count_tasks_of_rows(problem.sizes), work, num_workers);
  add_reasons_of_strides(plan, problem.addend, problem.output, problem.sizes[kRowAxis]);
  return plan;
}

void run_embedding(const KernelTable& kernels, const EmbeddingProblem& problem, const Plan& plan,
                   const Workers& workers) {
  if (count_elements(problem.sizes) == 0) return;
  const auto num_rows = static_cast<int64_t>(count_rows(problem.sizes));
  const int64_t size = problem.sizes[kRowAxis];
  const int64_t task_rows = rows_of_task(problem.sizes[kRowAxis]);
  const Operand& table = problem.table;
  const auto element_bytes = static_cast<int64_t>(size_of(table.dtype));
  run_loop(plan, workers, [&](int64_t task) {
    const int64_t end = std::min(num_rows, (task + 1) * task_rows);
    for (int64_t row = task * task_rows; row < end; ++row) {
      std::byte* const data = static_cast<std::byte*>(table.data) + problem.ids[row] * table.strides[2] * element_bytes;
      const StridedRow from = {data, table.strides[3], table.dtype};
      const StridedRow to = row_of(problem.sizes, problem.output, row, 0);
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
