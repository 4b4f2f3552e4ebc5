// SPDX-License-Identifier: Apache-2.0
// Attention with a cache in f64: the attention of tests/reference over the whole sequence, without a cache, in which the
// keys and values have the error of a row that is kept in the cache's dtype.
//
// The added term. A projected, normalized and rotated element x is within e of the exact one, as without a cache. The
// cache keeps it
//   in F32 unchanged
//   in F16 or BF16 rounded once: e becomes e + w (|x| + e) + h, with w the unit round-off of that dtype and h half of
//     its smallest subnormal (reference::error_after_rounding, which adds 2u to w for the product of the rotation)
//   in I8 as a whole number of steps of m / 127, with m the largest magnitude of the head's row, so that it is off by
//     half a step, m / 254. Dividing by the step and multiplying with it, and with it once more in the sums of scores and
//     outputs, takes less than 8 roundings of f32, relative to at most m: e becomes e + (m + max e) (1 / 254 + 8u).
// Keys that are kept before their rotation are rounded first, and rotated with that error. A key that was renumbered
// (heed_cache_discard) is rotated back from what was kept, by a rotation with the error of every rotation, and kept once
// more: the same term again.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cache/support/cached_layer.h"
#include "reference/attention.h"

namespace heed::cache_test {

// A row of a sequence, and what has happened to its key.
struct ReferenceRow {
  int64_t number = 0;
  int64_t position = 0;             // when it was appended
  std::vector<int64_t> turns = {};  // by how much its position was lowered, each time

  int64_t current_position() const;
};

struct CacheProblem {
  const CachedLayer* layer = nullptr;
  heed_cache_options cache = HEED_CACHE_OPTIONS_INIT;
  std::vector<ReferenceRow> keys;     // all rows of the sequence
  std::vector<ReferenceRow> queries;  // the rows that attend
  // Whether a mask, a ring or an index lets query q of head h see key k; the layer's window is applied besides. Null:
  // always.
  std::function<bool(int64_t h, int64_t q, int64_t k)> sees;
  // What the call adds to the score of a head, a query and a key; -infinity hides. Null: nothing.
  std::function<double(int64_t h, int64_t q, int64_t k)> bias;
  std::vector<double> alibi_slopes;  // of the call
  std::vector<double> sinks;         // of the call
};

// The last `num_queries` rows attend, each to the rows up to itself if the layer is causal.
CacheProblem appended(const CachedLayer& layer, const heed_cache_options& cache, std::vector<ReferenceRow> rows,
                      int64_t num_queries);

// Rows with these numbers and positions 0, 1, ..., or those given.
std::vector<ReferenceRow> reference_rows(const std::vector<int64_t>& numbers,
                                         const std::vector<int64_t>& positions = {});

// Output (Q, size), weights (H, Q, K) and log_sum_exp (H, Q).
reference::AttentionResult solve(const CacheProblem& problem);

}  // namespace heed::cache_test
