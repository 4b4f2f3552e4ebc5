// SPDX-License-Identifier: Apache-2.0
// The geometry of an attention: which rows of the tensors belong to a batch element, and which keys its queries see.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/operand.h"

namespace heed {

// One batch element. Indices q and k begin at 0 in each batch element: in the band, valid lengths, masks, biases,
// weights and dropout. Only row addresses add query_begin or key_begin, so that several batch elements can be
// concatenated along one axis of a tensor.
struct Sequence {
  int64_t query_begin = 0;  // first row along axis q of queries, output and log_sum_exp
  int64_t query_count = 0;
  int64_t key_begin = 0;  // first row along axis k of keys and values
  int64_t key_count = 0;
  // Positions of query 0 and key 0 in the text; query q has the position query_position + q.
  int64_t query_position = 0;
  int64_t key_position = 0;
  // Causal mask and window together: query q sees key k only if q + band_first <= k <= q + band_last, with the query's
  // position in place of q if KeyLimits has positions. An unlimited side is -query_count or key_count, so that the sums
  // cannot overflow.
  int64_t band_first = 0;
  int64_t band_last = 0;
};

// What decides which keys a query sees, apart from masks and biases (visible_keys.h): query q of batch element b sees
// key k only if k is less than the valid length of (b, q) and within the band of b's sequence.
struct KeyLimits {
  int64_t num_queries = 0;  // at least the largest query_count of the batch
  int64_t num_keys = 0;     // at least the largest key_count of the batch
  Sequence sequence;        // of every batch element, unless has_table is 1
  // [batch]: one sequence for each batch element, in host memory that lives until `run` returns. May be null in
  // problems that are only planned.
  const Sequence* table = nullptr;
  // 1 if the batch is ragged: each batch element has its own sequence. Plans depend on this, never on the address.
  int32_t has_table = 0;
  Operand valid_lens;  // axes (b, -, q, -); F32, I32, I64; whole numbers from 0 to key_count; optional
  // axes (b, -, q, -); I32, I64; at least 0; optional. The position of each query among its keys, which have the positions
  // 0, 1, ... In a ragged batch, row query_begin + q is that of query q. With it the band counts from the position, and an
  // unlimited side is kUnlimited away.
  Operand positions;
};

// No position and no number of keys is as large.
inline constexpr int64_t kUnlimited = int64_t{1} << 60;

// The sequence of batch element b.
inline const Sequence& sequence_of(const KeyLimits& limits, int64_t b) {
  return limits.has_table != 0 && limits.table != nullptr ? limits.table[b] : limits.sequence;
}

// Limits of a uniform batch that hide no key, with the last query at the position of the last key.
inline KeyLimits unlimited(int64_t num_queries, int64_t num_keys) {
  KeyLimits limits;
  limits.num_queries = num_queries;
  limits.num_keys = num_keys;
  limits.sequence.query_count = num_queries;
  limits.sequence.key_count = num_keys;
  limits.sequence.query_position = num_keys - num_queries;
  limits.sequence.band_first = -num_queries;
  limits.sequence.band_last = num_keys;
  return limits;
}

// The position of query q of batch element b. Positions without data count as those without `positions`.
int64_t position_of_query(const KeyLimits& limits, int64_t b, int64_t q);

// The number of rows along axis q or k that contains all batch elements.
inline int64_t num_query_rows(const KeyLimits& limits, int64_t batch) {
  int64_t rows = limits.num_queries;
  for (int64_t b = 0; limits.has_table != 0 && limits.table != nullptr && b < batch; ++b)
    rows = std::max(rows, limits.table[b].query_begin + limits.table[b].query_count);
  return rows;
}
inline int64_t num_key_rows(const KeyLimits& limits, int64_t batch) {
  int64_t rows = limits.num_keys;
  for (int64_t b = 0; limits.has_table != 0 && limits.table != nullptr && b < batch; ++b)
    rows = std::max(rows, limits.table[b].key_begin + limits.table[b].key_count);
  return rows;
}

// The number of queries or keys of all batch elements together.
inline double num_queries_of_batch(const KeyLimits& limits, int64_t batch) {
  if (limits.has_table == 0 || limits.table == nullptr)
    return static_cast<double>(batch) * static_cast<double>(limits.num_queries);
  double count = 0;
  for (int64_t b = 0; b < batch; ++b) count += static_cast<double>(limits.table[b].query_count);
  return count;
}
inline double num_keys_of_batch(const KeyLimits& limits, int64_t batch) {
  if (limits.has_table == 0 || limits.table == nullptr)
    return static_cast<double>(batch) * static_cast<double>(limits.num_keys);
  double count = 0;
  for (int64_t b = 0; b < batch; ++b) count += static_cast<double>(limits.table[b].key_count);
  return count;
}

// Keys first .. end - 1; empty if both are equal.
struct KeyRange {
  int64_t first = 0;
  int64_t end = 0;

  int64_t size() const { return end - first; }
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// Which rows of a batch element a linear operation computes if its rows are the keys, values or queries of an attention.
enum class WantedRows : int32_t {
  All = 0,
  // From the first to the last key that some query of the batch element sees.
  Visible = 1,
  // As Visible, but all rows if some query of the batch element sees no key: it averages all values.
  VisibleOrMean = 2,
  // The queries of the batch element: its first query_count rows. For rows of queries and of outputs.
  Queries = 3,
};

}  // namespace heed
