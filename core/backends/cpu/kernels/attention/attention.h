// SPDX-License-Identifier: Apache-2.0
// Arguments of the attention kernels: one call, and one task of it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ops/attention.h"
#include "ops/cached_keys.h"
#include "ops/sequence.h"

namespace heed::cpu {

// A call: the problem, and values computed from it once for all tasks.
struct AttentionArguments {
  const AttentionProblem* problem;
  uint32_t dropout_threshold;  // a weight is kept iff its random word is at least this
  float dropout_scale;         // 1 / (1 - dropout)
  // The queries are multiplied by the scale, which costs nothing, unless products of queries and keys could then
  // overflow; in that case the scores are. One of the two factors is 1. Additive scores use score_scale.
  float query_scale;
  float score_scale;
  int32_t is_additive;      // 1: additive scores, with score_weights
  int32_t drops;            // 1: weights are dropped
  int32_t mean_empty_rows;  // 1: a row without visible keys is the mean of all values
};

// Rows first_row .. end_row - 1 of the queries that share a key head. With G = num_heads / num_kv_heads and Q =
// sequence->query_count there are G * Q of them: row r is query r % Q of head kv_head * G + r / Q.
struct AttentionTask {
  int64_t batch_index;
  int64_t kv_head;
  int64_t first_row;
  int64_t end_row;
  const Sequence* sequence;  // of the batch element
  // [end_row - first_row], the keys that each row may see by valid lengths, causal mask and window.
  const KeyRange* key_ranges;
};

// One row of an attention over a cache: a query of one head, and the keys that it may see.
struct CachedRow {
  const Sequence* sequence;      // of the batch element
  const CachedElement* element;  // of the batch element
  int64_t batch_index;
  int64_t head;
  int64_t query;     // its number in its batch element
  int64_t position;  // of the query
  CachedRange keys;
};

// Rows that attend to the same keys of one key head: those of a sequence, or of several ones that share the pages of these
// keys.
struct CachedTask {
  const int32_t* pages;  // of the sequence
  int64_t batch_index;   // an element with that sequence
  int64_t kv_head;
  const CachedRow* rows;  // [num_rows]
  int64_t num_rows;
};

}  // namespace heed::cpu
