// SPDX-License-Identifier: Apache-2.0
// Products and sums are in f32 with one rounding, as on the CPU, so results have the same bits.
#include "backends/ascend/embedding.h"

#include <cmath>
#include <vector>

#include "backends/ascend/arrange.h"
#include "backends/ascend/operations.h"
#include "ops/visible_keys.h"

namespace heed::ascend {
namespace {

// Whether the results are rows of the table as they are.
bool is_lookup(const EmbeddingProblem& problem) { return problem.scale == 1 && problem.addend.given == 0; }

StridedArray table_of(const Operand& table, int64_t num_rows, int64_t size) {
  return strided(table, {1, 1, num_rows, size});
}

// Writes the rows of a table (num_rows, size) at these indices, in the table's dtype.
void gather_rows(Npu& npu, const Operand& table, int64_t num_rows, const int32_t* indices, const DeviceArray& rows) {
  const int64_t num_indices = rows.shape.dims[0];
  const int64_t size = rows.shape.dims[1];
  Temporary kept;
  const DeviceArray all = load(npu, table_of(table, num_rows, size), rows.dtype, kept);
  const Temporary on_device = uploaded(npu, ACL_INT32, dims_of({num_indices}), indices);
  gather(npu, reshaped(all, {num_rows, size}), on_device.array(), rows);
}

// One batch element if all of them share its rows, as in a packed batch.
int64_t batch_of(const PositionsProblem& problem) { return problem.output.strides[1] == 0 ? 1 : problem.batch; }

StridedArray rows_of(const PositionsProblem& problem, const Operand& operand) {
  const int64_t rows = num_query_rows(problem.limits, problem.batch);
  return strided(operand, {1, batch_of(problem), rows, problem.size});
}

// The row of the table for each row of the input. Rows that are no queries get row 0.
std::vector<int32_t> rows_of_table(const PositionsProblem& problem) {
  const int64_t rows = num_query_rows(problem.limits, problem.batch);
  const int64_t rows_apart = batch_of(problem) == 1 ? 0 : rows;
  std::vector<int32_t> indices(static_cast<size_t>(batch_of(problem) * rows));
  for (int64_t b = 0; b < problem.batch; ++b) {
    const Sequence& sequence = sequence_of(problem.limits, b);
    const int64_t first = b * rows_apart + sequence.query_begin;
    for (int64_t q = 0; q < sequence.query_count; ++q) {
      const int64_t row = problem.first_row + position_of_query(problem.limits, b, q);
      indices[static_cast<size_t>(first + q)] = static_cast<int32_t>(row);
    }
  }
  return indices;
}

}  // namespace

Plan plan_embedding(const EmbeddingProblem& problem) {
  Plan plan;
  plan.kernel = is_lookup(problem) ? "ATB Gather" : "ATB Gather and Elewise";
  if (std::fabs(problem.scale) < kMinFactor) plan.add_reason(kTooSmallFactor);
  if (problem.has_gaps != 0) plan.add_reason("ATB's Gather has no rows that are none");
  const int64_t size = problem.sizes[kElementwiseRank - 1];
  if (!can_arrange(table_of(problem.table, problem.num_table_rows, size)) ||
      !can_arrange(problem.addend, problem.sizes) || !can_arrange(problem.output, problem.sizes))
    plan.add_reason(kOutOfReach);
  return plan;
}

void run_embedding(Npu& npu, const EmbeddingProblem& problem) {
  const aclDataType of_table = acl_dtype(problem.table.dtype);
  const aclDataType compute = is_lookup(problem) ? of_table : ACL_FLOAT;
  const Target target(npu, strided(problem.output, problem.sizes), compute);
  const DeviceArray& result = target.array();
  if (result.num_elements() == 0) return;
  const int64_t size = problem.sizes[kElementwiseRank - 1];
  const int64_t num_ids = result.num_elements() / size;
  if (is_lookup(problem)) {
    gather_rows(npu, problem.table, problem.num_table_rows, problem.ids, reshaped(result, {num_ids, size}));
    target.store();
    return;
  }
  Temporary kept(npu, of_table, dims_of({num_ids, size}));
  gather_rows(npu, problem.table, problem.num_table_rows, problem.ids, kept.array());
  DeviceArray rows = reshaped(converted(npu, kept.array(), compute, kept), {result.num_elements()});
  if (problem.addend.given == 0) {
    multiply(npu, rows, problem.scale, result);
  } else {
    if (problem.scale != 1) {
      rows = renewed(npu, compute, rows.shape, kept,
                     [&](const DeviceArray& scaled) { multiply(npu, rows, problem.scale, scaled); });
    }
    Temporary kept_addend;
    add(npu, rows, load(npu, strided(problem.addend, problem.sizes), compute, kept_addend), result);
  }
  target.store();
}

Plan plan_positions(const PositionsProblem& problem) {
  Plan plan;
  plan.kernel = "ATB Gather and Elewise";
  if (!can_arrange(table_of(problem.table, problem.num_table_rows, problem.size)) ||
      !can_arrange(rows_of(problem, problem.input)) || !can_arrange(rows_of(problem, problem.output)))
    plan.add_reason(kOutOfReach);
  return plan;
}

void run_positions(Npu& npu, const PositionsProblem& problem) {
  const Target target(npu, rows_of(problem, problem.output), ACL_FLOAT);
  const DeviceArray& result = target.array();
  if (result.num_elements() == 0) return;
  const std::vector<int32_t> indices = rows_of_table(problem);
  Temporary kept(npu, acl_dtype(problem.table.dtype), dims_of({static_cast<int64_t>(indices.size()), problem.size}));
  gather_rows(npu, problem.table, problem.num_table_rows, indices.data(), kept.array());
  const DeviceArray rows = reshaped(converted(npu, kept.array(), ACL_FLOAT, kept), {result.num_elements()});
  Temporary kept_input;
  add(npu, load(npu, rows_of(problem, problem.input), ACL_FLOAT, kept_input), rows, result);
  target.store();
}

}  // namespace heed::ascend
