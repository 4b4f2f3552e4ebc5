// SPDX-License-Identifier: Apache-2.0
// Turns the products of a block of a query tile into scores (score_terms-inl.h), and hides keys. Other code that depends on a
// single pair of query and key: drop in block-inl.h, which drops weights, and add_seen_values_to_rows in the decode
// kernel.
//
// Keys whose products, with terms of the distance from query to key, are their final scores are not processed here
// (find_plain_keys): all rows see them, the mask hides none of them, there is no bias or soft cap, and queries are loaded
// with the scale. Keys that no row sees are not computed.
#pragma once

#include "backends/cpu/kernels/attention/query_tile-inl.h"
#include "backends/cpu/kernels/attention/score_terms-inl.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Hides keys k0 .. k1 - 1 from the rows of a vector whose key range does not contain them, and returns the maximum of
// `largest` and the scores. add(k, score, sees) may change the score of key k0 + k and clear lanes of `sees`.
template <typename Add>
HEED_INLINE Vec hide_keys(const TileTask& task, const QueryTile& query_tile, int64_t first_lane, int64_t begin,
                          int64_t k0, int64_t k1, Vec largest, const Add& add) {
  const SeenKeys range = find_seen_keys(query_tile, first_lane, k0, k1 - k0);
  float* scores = task.scores + (k0 - begin) * kQueryTileRows + first_lane;
  int32_t* seen = task.seen + (k0 - begin) * kQueryTileRows + first_lane;
  IntVec sees_any = load(query_tile.sees_any + first_lane);
  for (int64_t k = 0; k < k1 - k0; ++k) {
    const IntVec key = broadcast(static_cast<int32_t>(k));
    IntVec sees = range.contain(key);
    Vec score = load(scores + k * kQueryTileRows);
    add(k, score, sees);
    score = select(sees, score, broadcast(-kInfinity));
    sees_any |= sees;
    store(scores + k * kQueryTileRows, score);
    store(seen + k * kQueryTileRows, sees);
    // A NaN is never greater; it reaches the sums through its exponential.
    largest = max(score, largest);
  }
  store(query_tile.sees_any + first_lane, sees_any);
  return largest;
}

// As hide_keys, with terms of distances, bias and mask.
HEED_NOINLINE Vec add_terms_and_hide_keys(const TileTask& task, const QueryTile& query_tile, int64_t first_lane,
                                          int64_t begin, int64_t k0, int64_t k1, Vec largest) {
  const AttentionProblem& problem = *task.problem;
  const DistanceTerms terms = find_distance_terms(task, query_tile, first_lane, k0);
  if (problem.mask.data == nullptr && problem.bias.data == nullptr) {
    return hide_keys(task, query_tile, first_lane, begin, k0, k1, largest, [&](int64_t k, Vec& score, IntVec& sees) {
      score = add_terms(QueryLanes<false>{terms, k, Vec{}}, score, sees);
    });
  }
  const Pairs pairs = find_pairs(task, query_tile, first_lane);
  Vec added[kLanes] = {};
  return hide_keys(task, query_tile, first_lane, begin, k0, k1, largest, [&](int64_t k, Vec& score, IntVec& sees) {
    if (k % kLanes == 0) load_pairs(problem, pairs, k0 + k, smaller(kLanes, k1 - k0 - k), added);
    score = add_terms(QueryLanes<true>{terms, k, added[k % kLanes]}, score, sees);
  });
}

// Turns products of keys k0 .. k1 - 1 into scores, and hides keys. `begin`: the first key of the block. Hidden scores become -inf. Updates `maximum` and query_tile.sees_any, and sets task.seen.
template <int vectors>
static void finish_scores(const TileTask& task, const QueryTile& query_tile, int64_t begin, int64_t k0, int64_t k1,
                          Vec (&maximum)[vectors]) {
  const AttentionProblem& problem = *task.problem;
  const bool has_terms = problem.mask.data != nullptr || problem.bias.data != nullptr || has_distance_terms(problem) ||
                         compares_positions(problem);
  const int64_t count = k1 - k0;
  float* scores = task.scores + (k0 - begin) * kQueryTileRows;
  // Additive scores are scaled already.
  const float scale = task.arguments->is_additive == 0 ? task.arguments->score_scale : 1.0f;
  // The rows of a query tile are contiguous.
  constexpr int64_t kStep = vectors == kTileVectors ? kLanes : kQueryTileRows;
  scale_and_cap<kStep>(scale, problem.soft_cap, count * vectors, scores);
  for (int v = 0; v < vectors; ++v) {
    const int64_t first_lane = v * kLanes;
    maximum[v] =
        has_terms ? add_terms_and_hide_keys(task, query_tile, first_lane, begin, k0, k1, maximum[v])
                  : hide_keys(task, query_tile, first_lane, begin, k0, k1, maximum[v], [](int64_t, Vec&, IntVec&) {});
  }
}

// ---- what a mask says of a whole block ------------------------------------------------------------------------------

// Calls visit(row) with the mask's bytes of each row of a query tile, once for consecutive rows that share them.
template <typename Visit>
HEED_INLINE void visit_mask_rows(const TileTask& task, const QueryTile& query_tile, const Visit& visit) {
  const char* before = nullptr;
  for (int64_t first_lane = 0; first_lane < query_tile.num_rows; first_lane += kLanes) {
    char* rows[kLanes];
    find_rows(task, query_tile, first_lane, task.problem->mask, 0, 1, rows);
    for (const char* row : rows) {
      if (row != nullptr && row != before) visit(row);
      if (row != nullptr) before = row;
    }
  }
}

// Removes keys at both ends of k0 .. k1 - 1 that the mask hides from all rows. The range becomes empty if it hides all.
static void trim_by_mask(const TileTask& task, const QueryTile& query_tile, int64_t& k0, int64_t& k1) {
  const int64_t stride = task.problem->mask.strides[3];
  int64_t first = k1;
  int64_t end = k0;
  visit_mask_rows(task, query_tile, [&](const char* row) {
    int64_t k = k0;
    while (k < first && row[k * stride] == 0) ++k;
    first = k;
    k = k1;
    while (k > end && row[(k - 1) * stride] == 0) --k;
    end = k;
  });
  k0 = first;
  k1 = end;
}

// Whether all rows may attend to all keys k0 .. k1 - 1. False for masks whose stride along the keys is neither 1 nor 0,
// which are not examined.
static bool mask_hides_nothing(const TileTask& task, const QueryTile& query_tile, int64_t k0, int64_t k1) {
  const int64_t stride = task.problem->mask.strides[3];
  if (stride != 1 && stride != 0) return false;
  constexpr uint64_t kOnes = 0x0101010101010101u;
  uint64_t zeros = 0;
  visit_mask_rows(task, query_tile, [&](const char* row) {
    if (stride == 0) {
      zeros |= *row == 0 ? 1u : 0u;
      return;
    }
    int64_t k = k0;
    for (; k + 8 <= k1; k += 8) {
      uint64_t bytes;
      __builtin_memcpy(&bytes, row + k, sizeof bytes);
      // Sets the top bit of a byte if that byte or a lower one is 0.
      zeros |= (bytes - kOnes) & ~bytes & (kOnes << 7);
    }
    for (; k < k1; ++k) zeros |= row[k] == 0 ? 1u : 0u;
  });
  return zeros == 0;
}

// Reduces k0 .. k1 - 1 to the keys whose products (or additive scores) are final scores but for terms of distances, which
// score_plain_keys adds. If there are none, k0 >= k1.
static void find_plain_keys(const TileTask& task, const QueryTile& query_tile, int64_t& k0, int64_t& k1) {
  const AttentionProblem& problem = *task.problem;
  const int64_t first = smaller(larger(k0, query_tile.all_first), k1);
  const int64_t end = larger(smaller(k1, query_tile.all_end), first);
  const bool is_scaled = task.arguments->is_additive != 0 || task.arguments->score_scale == 1;
  const bool adds_terms =
      (has_distance_terms(problem) && (task.arguments->is_additive != 0 || task.row_queries != nullptr)) ||
      compares_positions(problem);
  const bool are_products = problem.bias.data == nullptr && !adds_terms && problem.soft_cap == 0 && is_scaled &&
                            first < end &&
                            (problem.mask.data == nullptr || mask_hides_nothing(task, query_tile, first, end));
  k0 = are_products ? first : k0;
  k1 = are_products ? end : k0;
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
