// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernel of attention backward: one call, and one task of it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backends/cpu/kernels/attention/attention.h"
#include "ops/attention_backward.h"

namespace heed::cpu {

// Where the sums of one batch element, key head and chunk are in BackwardTask::sums, in floats. Sums that are not wanted have no
// room.
struct BackwardSums {
  int64_t alibi_slopes;   // [query heads of the key head]
  int64_t sinks;          // [query heads of the key head]
  int64_t relative_bias;  // [query heads of the key head][num_buckets]
  int64_t score_weights;  // [query heads of the key head][head_size]
  int64_t bias_key;       // [head_size]
  int64_t bias_value;     // [value_head_size]
  int64_t num_floats;
};

// A call.
struct BackwardArguments {
  const AttentionBackwardProblem* problem;
  AttentionArguments forward;  // of problem->forward
  BackwardSums sums;
};

// The queries that share a key head, and one chunk of its keys.
struct BackwardTask {
  int64_t batch_index;
  int64_t kv_head;
  const Sequence* sequence;  // of the batch element
  const KeyRange*
      key_ranges;  // [query_count], the keys that each query may see by valid lengths, causal mask and window
  int64_t chunk;   // the number of the chunk
  // 1: the last task in the same scratch memory had the chunk before, of the same batch element and key head.
  int32_t goes_on;
  float* sums;  // [BackwardSums::num_floats], of the chunk; written
  // Where the queries' gradient of the chunk is written, [rows][head_size in whole vectors], for backward_add_queries. Null: it is
  // written to the gradient if it is that of chunk 0, otherwise added to it.
  float* query_sums;
};

}  // namespace heed::cpu
