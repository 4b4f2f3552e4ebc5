// SPDX-License-Identifier: Apache-2.0
// What the attention kernels are given: one call, and one item of its work.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace heed::cpu {

// Same numbers as DType's.
enum ElementType : int32_t { kF32 = 0, kF16 = 1, kBF16 = 2, kI32 = 4, kI64 = 5 };

// Strides are in elements, 0 where an axis is repeated; data is null where the operand takes no part.
struct KernelOperand {
  void* data;
  int64_t strides[4];
  int32_t element_type;
};

// The members of AttentionProblem that kernels read, with the same meanings.
struct AttentionArguments {
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t num_queries;
  int64_t num_keys;
  int64_t head_size;
  int64_t value_head_size;

  KernelOperand queries;        // (b, h, q, d)
  KernelOperand keys;           // (b, kv head, k, d)
  KernelOperand values;         // (b, kv head, k, d)
  KernelOperand score_weights;  // (-, h, -, d); with additive scoring only
  KernelOperand valid_lens;     // (b, -, q, -); kF32, kI32, kI64
  KernelOperand mask;           // (b, h, q, k), bytes
  KernelOperand bias;           // (b, h, q, k)
  KernelOperand output;         // (b, h, q, d)
  KernelOperand weights;        // (b, h, q, k)
  KernelOperand log_sum_exp;    // (b, h, q, -); kF32

  int64_t band_first;
  int64_t band_last;
  uint64_t dropout_seed;
  uint32_t dropout_threshold;  // kept iff the random word is not below it
  float dropout_scale;         // 1 / (1 - dropout)
  // Products of queries and keys times the scale are those of queries that carry it, which costs nothing; unless it
  // could overflow them, when the products do. One of the two is 1. Additive scores are no products: `score_scale`.
  float query_scale;
  float score_scale;
  float soft_cap;
  int32_t is_additive;      // 1: additive scores, with score_weights
  int32_t drops;            // 1: weights are dropped
  int32_t mean_empty_rows;  // 1: a row without visible keys is the mean of all values
};

// Rows first_row .. end_row - 1 of the queries that share one head of keys and values. With G = num_heads /
// num_kv_heads there are G * num_queries of them: row r is query r % num_queries of head kv_head * G + r / num_queries.
struct AttentionItem {
  int64_t batch_index;
  int64_t kv_head;
  int64_t first_row;
  int64_t end_row;
};

}  // namespace heed::cpu
