// SPDX-License-Identifier: Apache-2.0
// One row of an attention over a cache: from products with the keys of a block to probabilities, and the result of a block
// as a part of the result of the row. Lanes are keys.
//
// A block of a row has a result of its own: the maximum of its scores, the sum of their exponentials and the sums of the
// values, relative to that maximum. It depends on nothing else. The blocks of a chunk are merged in order, then the
// chunks. So a row has the same bits however the rows, the keys and the threads are divided.
#pragma once

#include "backends/cpu/kernels/attention/attention.h"
#include "backends/cpu/kernels/attention/block-inl.h"
#include "backends/cpu/kernels/attention/cached_tiles-inl.h"
#include "backends/cpu/kernels/attention/exponentials-inl.h"
#include "backends/cpu/kernels/attention/repaired_sums-inl.h"
#include "backends/cpu/kernels/attention/row_results-inl.h"
#include "backends/cpu/kernels/attention/score_terms-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "ops/cached_keys.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// ---- scores ---------------------------------------------------------------------------------------------------------

// The part of a block that one row is computed on: keys begin .. end - 1, from whole vectors. `block_key`: the block's
// first key.
struct RowPart {
  int64_t block_key;
  int64_t begin;
  int64_t end;

  HEED_INLINE_MEMBER int64_t first_vector() const { return begin / kLanes * kLanes - block_key; }
  HEED_INLINE_MEMBER int64_t end_vector() const { return round_up(end, kLanes) - block_key; }

  // The tiles of the whole vectors, and the keys, as numbers in the block.
  HEED_INLINE_MEMBER BlockRange tiles() const {
    return {first_vector() / kCacheTileRows, divide_up(end_vector(), kCacheTileRows)};
  }
  HEED_INLINE_MEMBER BlockRange keys() const { return {begin - block_key, end - block_key}; }
};

// Turns products into scores; hidden ones become -inf. Returns whether the row sees a key of the part. `seen`: null, or
// gets -1 for each key that is seen, else 0.
static bool finish_row(const RowTerms& terms, const CachedBlock& block, RowPart part, float* scores, int32_t* seen) {
  const AttentionProblem& problem = *terms.problem;
  const CachedRow& row = *terms.row;
  const int64_t first = part.first_vector();
  const int64_t end = part.end_vector();
  // Whether the row sees keys k .. k + count - 1, if nothing but its range hides any.
  const auto is_inside = [&](int64_t k, int64_t count) __attribute__((always_inline)) {
    return row.keys.rows.first <= k && k + count <= row.keys.rows.end && part.begin <= k && k + count <= part.end;
  };
  bool is_scaled = problem.cached.dtype == DType::I8;
  const bool are_scores = !terms.has_any() && !is_scaled && seen == nullptr;
  if (are_scores && is_inside(part.block_key + first, end - first)) return true;
  const auto times_key_scales = [&](Vec score, int64_t i) __attribute__((always_inline)) {
    return score * load(block.key_scales[i / kCacheTileRows] + i % kCacheTileRows);
  };
  if (terms.scale != 1 || problem.soft_cap != 0) {
    for (int64_t i = first; is_scaled && i < end; i += kLanes) store(scores + i, times_key_scales(load(scores + i), i));
    scale_and_cap<kLanes>(terms.scale, problem.soft_cap, (end - first) / kLanes, scores + first);
    is_scaled = false;
  }
  IntVec any_seen{};
  for (int64_t i = first; i < end; i += kLanes) {
    const int64_t k = part.block_key + i;
    const bool is_whole = is_inside(k, kLanes);
    if (is_whole && are_scores) {
      any_seen = broadcast(int32_t{-1});
      continue;
    }
    Vec score = load(scores + i);
    if (is_scaled) score = times_key_scales(score, i);
    IntVec sees = broadcast(int32_t{-1});
    if (terms.has_terms) score = add_terms(KeyLanes(terms, k, smaller(kLanes, part.end - k)), score, sees);
    if (!is_whole) sees &= (is_in(row.keys.rows, k) | is_in(row.keys.sinks, k)) & is_in({part.begin, part.end}, k);
    any_seen |= sees;
    store(scores + i, select(sees, score, broadcast(-kInfinity)));
    if (seen != nullptr) store(seen + i, sees);
  }
  return any(any_seen);
}

// ---- softmax --------------------------------------------------------------------------------------------------------

// Turns the scores of a part into probabilities relative to their maximum, for I8 times the scales of the values. Sets the
// numbers of the result.
static void exponentiate_row(const CachedBlock& block, bool is_scaled, RowPart part, float* scores, float* numbers) {
  const int64_t first = part.first_vector();
  const int64_t end = part.end_vector();
  // A NaN is never greater; it reaches the sums through its exponential.
  Vec largest[2] = {broadcast(-kInfinity), broadcast(-kInfinity)};
  int64_t i = first;
  for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
    largest[0] = max(load(scores + i), largest[0]);
    largest[1] = max(load(scores + i + kLanes), largest[1]);
  }
  if (i < end) largest[0] = max(load(scores + i), largest[0]);
  const Vec maximum = broadcast(maximum_of_lanes(max(largest[0], largest[1])));
  if (any(is_large(maximum))) {
    for (i = first; i < end; i += kLanes) store(scores + i, load(scores + i) - shift_of(maximum));
  }
  const Vec pivots[1] = {pivot_of(maximum)};
  // By the number of the vector in its block, so that the order of the sum does not depend on where the part begins.
  Vec total{};
  i = first;
  for (; i + 4 * kLanes <= end; i += 4 * kLanes) exponentiate_vectors<4>(scores + i, pivots, total);
  for (; i < end; i += kLanes) exponentiate_vectors<1>(scores + i, pivots, total);
  numbers[kMaximum] = maximum[0];
  numbers[kTotal] = sum_of_lanes(total);
  if (!is_scaled) return;
  for (i = first; i < end; i += kLanes)
    store(scores + i, load(scores + i) * load(block.value_scales[i / kCacheTileRows] + i % kCacheTileRows));
}

// ---- sums that are not finite ---------------------------------------------------------------------------------------

// The sums of a row: of one block, or of all keys.
struct CachedSums {
  const float* result;
  int64_t size;  // value_head_size

  // Whether a row that sees keys has sums that are not finite although their total is.
  bool find_doubtful() const {
    const float* numbers = result + row_stride(size);
    if (numbers[kSeesAny] == 0.0f || !any(is_finite(broadcast(numbers[kTotal])))) return false;
    const int64_t whole = size / kLanes * kLanes;
    Vec zeros = zero_times(result, size / kLanes, kLanes);
    // Beyond the values a sum may be anything.
    if (whole < size) zeros = fma(load_first(result + whole, size - whole), Vec{}, zeros);
    return any(is_nan(zeros));
  }
};

// Adds weight * value to the sums for each key of the part that is seen, keys ascending.
static void add_seen_cached_values(const CachedBlock& block, RowPart part, const float* weights, const int32_t* seen,
                                   float* sums) {
  const int64_t element = size_of_cached(block.dtype);
  for (int64_t i = part.begin - part.block_key; i < part.end - part.block_key; ++i) {
    if (seen[i] == 0) continue;
    const char* value = block.values[i / kCacheTileRows] + i % kCacheTileRows * block.value_bytes;
    const Vec weight = broadcast(weights[i]);
    for (int64_t d = 0; d < block.value_head_size; d += kLanes) {
      float widened[kLanes];
      widen_cached(value + d * element, block.dtype, kLanes, widened);
      store(sums + d, fma(weight, load(widened), load(sums + d)));
    }
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
