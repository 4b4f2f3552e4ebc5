// SPDX-License-Identifier: Apache-2.0
// A problem of attention as the kernels take it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/kernels/attention.h"
#include "base/rounding.h"
#include "ops/attention.h"
#include "ops/cost.h"

namespace heed::cpu {

AttentionArguments arguments_of(const AttentionProblem& problem);

// Queries that share a head of keys and values: what one item of the batch has for each of these heads.
inline int64_t rows_of_group(const AttentionProblem& problem) {
  return problem.num_heads / problem.num_kv_heads * problem.num_queries;
}

// How the rows of a problem are cut into items.
struct RowItems {
  int64_t num_rows;      // of one head of keys and values
  int64_t rows;          // of one item
  int64_t row_blocks;    // of one head of keys and values
  int64_t num_kv_heads;  // of one element of the batch
  double count;          // of all; a double, because plans are made for shapes that nobody could run

  RowItems(const AttentionProblem& problem, int64_t all_rows, int64_t item_rows)
      : num_rows(all_rows),
        rows(item_rows),
        row_blocks(divide_up(all_rows, item_rows)),
        num_kv_heads(problem.num_kv_heads),
        count(static_cast<double>(problem.batch) * static_cast<double>(num_kv_heads) *
              static_cast<double>(row_blocks)) {}

  AttentionItem at(int64_t index) const {
    const int64_t block = index % row_blocks;
    const int64_t head = index / row_blocks;
    return {head / num_kv_heads, head % num_kv_heads, block * rows, std::min(num_rows, (block + 1) * rows)};
  }
};

// The most that a call of these sizes can cost, whatever its lengths, strides, dtypes and outputs.
Cost most_work_of(const AttentionProblem& problem);

// Adds the reasons for which any kernel is slower than it could be: operands that are gathered one by one.
void add_attention_reasons(const AttentionProblem& problem, Plan& plan);

}  // namespace heed::cpu
