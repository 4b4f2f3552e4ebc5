// SPDX-License-Identifier: Apache-2.0
// Scores of few queries and many keys, one row of scores for each query. Lanes are elements of a head, so that a key is
// read as stored, once for all queries. The remaining sum over lanes is computed for four keys at a time.
//
// The order of a sum depends only on the head size: first within each lane, by vectors with d ascending, then over the
// lanes.
#pragma once

#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// The number of keys whose sums over lanes are computed together.
constexpr int kFoldedKeys = 4;
// The number of queries whose scores are computed together, so that each loaded key element serves all of them. It
// follows from the number of vector registers. With 32 registers: 4 queries x kFoldedKeys keys = 16 sums, and one vector
// of elements for each of the 4 queries. With 16 registers: 2 queries x kFoldedKeys keys = 8 sums, and 2 vectors of
// elements.
constexpr int kSharingRows = kRegisters >= 32 ? 4 : 2;

// Rows of keys or values as stored, `stride` bytes apart; the elements of a row are contiguous.
struct StoredRows {
  const char* data;
  int64_t stride;
  int64_t width;
};

// Rows that are scored together: row r has its query at queries + r * query_stride, times the scale, and its scores at
// scores + r * score_stride.
struct ScoredRows {
  const float* queries;
  int64_t query_stride;
  float* scores;
  int64_t score_stride;
  int64_t count;

  // The rows from row r on, with their scores from key k on.
  HEED_INLINE_MEMBER ScoredRows from(int64_t r, int64_t k) const {
    return {queries + r * query_stride, query_stride, scores + r * score_stride + k, score_stride, count - r};
  }
};

// ---- reading ahead --------------------------------------------------------------------------------------------------

// How far ahead each of a block's four streams is prefetched. The processor's own prefetching ends at a page, and with
// several rows, whose products fill its window, it reaches only one key ahead in each stream. Four streams have 8 KiB
// in flight, a bit more than the 4 to 5 KB that arrive at 40 GB/s in the latency of 100 to 120 ns. With heads of 128, 1
// KiB and 4 KiB measured slower.
constexpr int64_t kAheadBytes = 2048;
// Rows at a distance of a multiple of this map to a few sets of the first-level cache. Then only the next row is
// prefetched: more would evict rows that are still to be read, which took 1.8 times the time with four queries and rows
// of 512 bytes.
constexpr int64_t kCollidingBytes = 4096;
constexpr int64_t kLineBytes = 64;

// The distance from a row to the row that is prefetched with it, in bytes.
template <DType type>
HEED_INLINE int64_t ahead_of(StoredRows rows) {
  const int64_t count = rows.stride % kCollidingBytes == 0 ? 1 : kAheadBytes / (rows.width * size_of_element(type));
  return (count > 1 ? count : 1) * rows.stride;
}

// The address may be invalid: prefetching it has no effect.
HEED_INLINE void fetch(const char* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLineBytes) __builtin_prefetch(from + i);
}

// ---- elements that do not fill a vector -----------------------------------------------------------------------------

// The last width % kLanes elements of a row: in the last lanes if the row fills a vector, otherwise in the first; the
// other lanes are 0. Reads nothing beyond the row.
template <DType type>
HEED_INLINE Vec load_tail(const char* row, int64_t width) {
  if (width < kLanes) return load_first_elements(row, type, width);
  const auto others = static_cast<int32_t>(kLanes - width % kLanes);
  return select(lane_numbers() >= broadcast(others),
                load_elements(row + (width - kLanes) * size_of_element(type), type), Vec{});
}

// The lane of load_tail's first element.
HEED_INLINE int64_t tail_lane(int64_t width) { return width < kLanes ? 0 : kLanes - width % kLanes; }

// ---- sums over lanes ------------------------------------------------------------------------------------------------

using Quad = float __attribute__((vector_size(16)));

// Within each four lanes: a0 + a2, b0 + b2, a1 + a3, b1 + b3.
template <int... lane>
HEED_INLINE Vec add_and_interleave(Vec a, Vec b, Lanes<lane...>) {
  return __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 4 / 2 + lane % 2 * kLanes)...) +
         __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 4 / 2 + lane % 2 * kLanes + 2)...);
}

// Within each four lanes: a0 + a2, a1 + a3, b0 + b2, b1 + b3.
template <int... lane>
HEED_INLINE Vec add_and_join(Vec a, Vec b, Lanes<lane...>) {
  return __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 2 + lane % 4 / 2 * kLanes)...) +
         __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 2 + lane % 4 / 2 * kLanes + 2)...);
}

// Within each four lanes: the sums of these lanes of a, b, c and d.
HEED_INLINE Vec fold_fours(Vec a, Vec b, Vec c, Vec d) {
  const AllLanes lanes{};
  return add_and_join(add_and_interleave(a, b, lanes), add_and_interleave(c, d, lanes), lanes);
}

template <int first>
HEED_INLINE Quad quad_of(Vec value) {
  return __builtin_shufflevector(value, value, first, first + 1, first + 2, first + 3);
}

// The sums over the lanes of four vectors, each in the same order.
template <int lanes = kLanes>
HEED_INLINE Quad sums_of_lanes(Vec a, Vec b, Vec c, Vec d) {
  const Vec sums = fold_fours(a, b, c, d);
  if constexpr (lanes == 16) {
    return (quad_of<0>(sums) + quad_of<lanes / 2>(sums)) + (quad_of<lanes / 4>(sums) + quad_of<3 * lanes / 4>(sums));
  } else if constexpr (lanes == 8) {
    return quad_of<0>(sums) + quad_of<lanes / 2>(sums);
  } else {
    return quad_of<0>(sums);
  }
}

// ---- scores ---------------------------------------------------------------------------------------------------------

// Keys that are scored together: the stored rows from the first one on.
struct ScoredKeys {
  StoredRows stored;
  int64_t ahead;  // the bytes at this distance are prefetched
  // In parts, key i is at index i % 4 * apart + i / 4, so that four parts of the keys are read at a time. Otherwise it is key
  // i, or the last of `count` keys if i is beyond it.
  int64_t apart;
  int64_t count;
};

// Computes scores of num_keys keys for `rows` queries, and stores them at the indices of their keys.
template <DType type, int rows, int num_keys, bool in_parts, bool fetches>
HEED_INLINE void score_keys(ScoredKeys keys, ScoredRows to) {
  const char* key[num_keys];
#pragma GCC unroll 8
  for (int i = 0; i < num_keys; ++i) {
    const int64_t index =
        in_parts ? i % kFoldedKeys * keys.apart + i / kFoldedKeys : (i < keys.count ? i : keys.count - 1);
    key[i] = keys.stored.data + index * keys.stored.stride;
  }
  Vec sums[rows][num_keys] = {};
  const int64_t width = keys.stored.width;
  const int64_t whole = width / kLanes * kLanes;
  for (int64_t d = 0; d < whole; d += kLanes) {
    Vec query[rows];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) query[r] = load(to.queries + r * to.query_stride + d);
#pragma GCC unroll 8
    for (int i = 0; i < num_keys; ++i) {
      if (fetches && d * size_of_element(type) % kLineBytes == 0)
        __builtin_prefetch(key[i] + keys.ahead + d * size_of_element(type));
      const Vec elements = load_elements(key[i] + d * size_of_element(type), type);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) sums[r][i] = fma(query[r], elements, sums[r][i]);
    }
  }
  if (whole < width) {
#pragma GCC unroll 8
    for (int i = 0; i < num_keys; ++i) {
      const Vec elements = load_tail<type>(key[i], width);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r)
        sums[r][i] = fma(load(to.queries + r * to.query_stride + whole), elements, sums[r][i]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int i = 0; i < num_keys; i += kFoldedKeys) {
      const Quad quad = sums_of_lanes(sums[r][i], sums[r][i + 1], sums[r][i + 2], sums[r][i + 3]);
      float* scores = to.scores + r * to.score_stride;
      if (in_parts) {
#pragma GCC unroll 4
        for (int part = 0; part < kFoldedKeys; ++part) scores[part * keys.apart + i / kFoldedKeys] = quad[part];
      } else {
        __builtin_memcpy(scores + i, &quad, sizeof quad);
      }
    }
  }
}

// Calls score_keys for all queries, kSharingRows at a time.
template <DType type, bool in_parts>
HEED_INLINE void score_keys_of_rows(ScoredKeys keys, ScoredRows rows) {
  int64_t r = 0;
  // The first rows read the keys from memory, the others from the cache.
  if (rows.count >= kSharingRows) {
    score_keys<type, kSharingRows, kFoldedKeys, in_parts, in_parts>(keys, rows);
    r = kSharingRows;
  }
  for (; r + kSharingRows <= rows.count; r += kSharingRows)
    score_keys<type, kSharingRows, kFoldedKeys, in_parts, false>(keys, rows.from(r, 0));
  if constexpr (kSharingRows > 2) {
    for (; r + 2 <= rows.count; r += 2) score_keys<type, 2, kFoldedKeys, in_parts, in_parts>(keys, rows.from(r, 0));
  }
  if (r < rows.count) score_keys<type, 1, kFoldedKeys, in_parts, in_parts>(keys, rows.from(r, 0));
}

// Products of the queries and `count` keys. Writes up to three scores beyond `count` in each row.
template <DType type>
static void score_rows(StoredRows keys, int64_t count, ScoredRows rows) {
  // Reads four quarters at the same time: the processor prefetches in each, up to the end of its page, as it would in
  // one.
  const int64_t quarter = count / kFoldedKeys;
  const auto from_key = [&](int64_t k) { return StoredRows{keys.data + k * keys.stride, keys.stride, keys.width}; };
  const int64_t ahead = ahead_of<type>(keys);
  for (int64_t k = 0; k < quarter; ++k)
    score_keys_of_rows<type, true>({from_key(k), ahead, quarter, count}, rows.from(0, k));
  const int64_t k = quarter * kFoldedKeys;
  if (k < count) score_keys_of_rows<type, false>({from_key(k), 0, 0, count - k}, rows.from(0, k));
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
