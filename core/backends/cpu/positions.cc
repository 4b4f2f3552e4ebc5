// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/positions.h"

#include <algorithm>
#include <cstddef>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "base/rounding.h"
#include "ops/visible_keys.h"

namespace heed::cpu {
namespace {

StridedRow row_of(const Operand& operand, int64_t b, int64_t row) {
  const int64_t index = b * operand.strides[1] + row * operand.strides[2];
  return {static_cast<std::byte*>(operand.data) + index * static_cast<int64_t>(size_of(operand.dtype)),
          operand.strides[3], operand.dtype};
}

}  // namespace

Plan plan_positions(const KernelTable& kernels, const PositionsProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "add_rows";
  plan.isa = kernels.isa;
  const int64_t blocks = divide_up(problem.limits.num_queries, rows_of_task(problem.size));
  const double tasks = static_cast<double>(problem.batch) * static_cast<double>(blocks);
  const double work = work_of(cost_of(problem));
  plan_loop(plan, tasks, work, num_workers);
  add_reasons_of_strides(plan, problem.input, problem.output, problem.size);
  return plan;
}

void run_positions(const KernelTable& kernels, const PositionsProblem& problem, const Plan& plan,
                   const Workers& workers) {
  const int64_t rows = rows_of_task(problem.size);
  const int64_t blocks = divide_up(problem.limits.num_queries, rows);
  run_loop(plan, workers, [&](int64_t task) {
    const int64_t b = task / blocks;
    const Sequence& sequence = sequence_of(problem.limits, b);
    const int64_t begin = task % blocks * rows;
    const int64_t end = std::min(sequence.query_count, begin + rows);
    for (int64_t q = begin; q < end; ++q) {
      const int64_t row = sequence.query_begin + q;
      const StridedRow input = row_of(problem.input, b, row);
      const StridedRow output = row_of(problem.output, b, row);
      const StridedRow table = row_of(problem.table, 0, problem.first_row + position_of_query(problem.limits, b, q));
      kernels.add_row(&input, &table, &output, problem.size);
    }
  });
}

}  // namespace heed::cpu
