// SPDX-License-Identifier: Apache-2.0
// A problem of attention as the kernels take it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/kernels/attention.h"
#include "base/rounding.h"
#include "ops/attention.h"
#include "ops/cost.h"

namespace heed::cpu {

AttentionArguments arguments_of(const AttentionProblem& problem);

// Queries that share a head of keys and values, of one batch element with so many queries.
inline int64_t rows_of_group(const AttentionProblem& problem, int64_t num_queries) {
  return problem.num_heads / problem.num_kv_heads * num_queries;
}
// Of the largest batch element.
inline int64_t rows_of_group(const AttentionProblem& problem) {
  return rows_of_group(problem, problem.limits.num_queries);
}

// How a problem is cut into tasks of some rows each. Batch elements are cut alike: of a ragged batch, those that are
// shorter than the longest have tasks without rows.
struct TaskGrid {
  int64_t rows;        // of one task
  int64_t row_blocks;  // tasks of one head of keys and values
  int64_t group_size;  // query heads that share a head of keys and values
  double count;        // of all tasks; a double, because plans are made for shapes that nobody could run

  TaskGrid(const AttentionProblem& problem, int64_t rows_of_head, int64_t rows_of_task)
      : rows(rows_of_task),
        row_blocks(divide_up(rows_of_head, rows_of_task)),
        group_size(problem.num_heads / problem.num_kv_heads),
        count(static_cast<double>(problem.batch) * static_cast<double>(problem.num_kv_heads) *
              static_cast<double>(row_blocks)) {}

  // Without key ranges.
  AttentionTask at(const AttentionProblem& problem, int64_t index) const;
};

// Bytes of the key ranges of a task of num_rows rows.
inline size_t key_range_bytes(int64_t num_rows) { return static_cast<size_t>(num_rows) * sizeof(KeyRange); }

// Writes the key ranges of the task's rows to `ranges`, and sets task.key_ranges to them.
void find_key_ranges(const AttentionProblem& problem, AttentionTask& task, KeyRange* ranges);

// The most that a call of these sizes can cost, whatever its lengths, strides, dtypes and outputs.
Cost most_work_of(const AttentionProblem& problem);

// Adds the reasons for which any kernel is slower than it could be: operands that are gathered one by one.
void add_attention_reasons(const AttentionProblem& problem, Plan& plan);

}  // namespace heed::cpu
