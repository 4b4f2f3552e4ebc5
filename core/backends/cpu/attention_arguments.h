// SPDX-License-Identifier: Apache-2.0
// Prepares an attention problem for the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/kernels/attention/attention.h"
#include "base/rounding.h"
#include "ops/attention.h"
#include "ops/cost.h"

namespace heed::cpu {

AttentionArguments arguments_of(const AttentionProblem& problem);

// The number of rows that share a key head, in the largest batch element.
inline int64_t rows_of_group(const AttentionProblem& problem) {
  return group_size(problem) * problem.limits.num_queries;
}

// How a problem is cut into tasks of `rows` rows. All batch elements are cut alike: in a ragged batch, elements that
// are shorter than the longest have tasks without rows.
struct TaskGrid {
  int64_t rows;        // of one task
  int64_t row_blocks;  // tasks of one key head
  int64_t group;       // query heads that share one key head
  double count;        // of all tasks; a double, because plans are also made for shapes that are too large to run

  TaskGrid(const AttentionProblem& problem, int64_t rows_of_head, int64_t rows_of_task)
      : rows(rows_of_task),
        row_blocks(divide_up(rows_of_head, rows_of_task)),
        group(group_size(problem)),
        count(static_cast<double>(problem.batch) * static_cast<double>(problem.num_kv_heads) *
              static_cast<double>(row_blocks)) {}

  // The task's key_ranges is null; find_key_ranges sets it.
  AttentionTask at(const AttentionProblem& problem, int64_t index) const;
};

// The bytes of the key ranges of a task with num_rows rows.
inline size_t key_range_bytes(int64_t num_rows) { return static_cast<size_t>(num_rows) * sizeof(KeyRange); }

// Writes the key ranges of the task's rows to `ranges`, and sets task.key_ranges.
void find_key_ranges(const AttentionProblem& problem, AttentionTask& task, KeyRange* ranges);

// The maximum cost of a call with these sizes, for any lengths, strides, dtypes and outputs.
Cost most_work_of(const AttentionProblem& problem);

// Adds the reasons why every kernel is slower on this problem: layouts of its operands.
void add_attention_reasons(const AttentionProblem& problem, Plan& plan);

}  // namespace heed::cpu
