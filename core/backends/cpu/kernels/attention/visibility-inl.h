// SPDX-License-Identifier: Apache-2.0
// Turns the products of a block into scores: soft cap, ALiBi, biases, and hiding of keys. Other code that depends on a
// single pair of query and key: drop in block-inl.h, which drops weights, and add_seen_values_to_rows in the decode
// kernel.
//
// Keys whose products, with terms of the distance from query to key, are their final scores are not processed here
// (find_plain_keys): all rows see them, the mask hides none of them, there is no bias or soft cap, and queries are loaded
// with the scale. Keys that no row sees are not computed.
#pragma once

#include "backends/cpu/kernels/attention/query_tile-inl.h"
#include "backends/cpu/kernels/simd/tanh-inl.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Addresses of mask and bias for a vector of rows.
struct Pairs {
  char* mask_rows[kLanes];  // bytes; null if there is no mask
  char* bias_rows[kLanes];  // null if there is no bias
  // Whether all rows have the same mask and bias, so that they are read once.
  bool is_uniform;
};

static bool repeats_rows(const Operand& operand, bool one_head) {
  return operand.data == nullptr || (operand.strides[2] == 0 && (one_head || operand.strides[1] == 0));
}

static Pairs find_pairs(const TileTask& task, const QueryTile& query_tile, int64_t first_lane) {
  const AttentionProblem& problem = *task.problem;
  Pairs pairs = {};
  if (problem.mask.data != nullptr) find_rows(task, query_tile, first_lane, problem.mask, 0, 1, pairs.mask_rows);
  if (problem.bias.data != nullptr) {
    find_rows(task, query_tile, first_lane, problem.bias, 0, size_of_element(problem.bias.dtype), pairs.bias_rows);
  }
  const bool one_head = problem.num_heads == problem.num_kv_heads;
  pairs.is_uniform = repeats_rows(problem.mask, one_head) && repeats_rows(problem.bias, one_head);
  return pairs;
}

// Elements k .. k + count - 1 of one row: the bias or 0, and -inf where the mask is false. The other lanes are
// undefined.
static Vec load_pair_row(const AttentionProblem& problem, const Pairs& pairs, int lane, int64_t k, int64_t count) {
  Vec value{};
  const char* bias = pairs.bias_rows[lane];
  if (bias != nullptr) {
    const Operand& operand = problem.bias;
    const int64_t stride = operand.strides[3];
    value = stride == 0 ? broadcast(load_element(bias, operand.dtype))
                        : gather_first_elements(bias + k * stride * size_of_element(operand.dtype), operand.dtype,
                                                stride, count);
  }
  const char* mask = pairs.mask_rows[lane];
  if (mask != nullptr) {
    const int64_t stride = problem.mask.strides[3];
    uint8_t bytes[kLanes];
    if (stride == 1 && count == kLanes) {
      __builtin_memcpy(bytes, mask + k, kLanes);
    } else if (stride == 0) {
      __builtin_memset(bytes, *mask, kLanes);
    } else {
      for (int64_t i = 0; i < kLanes; ++i)
        bytes[i] = i < count ? static_cast<uint8_t>(mask[(k + i) * stride]) : uint8_t{1};
    }
    value = select(load_bytes(bytes) == IntVec{}, broadcast(-kInfinity), value);
  }
  return value;
}

// Sets values[i] to the bias and mask of key k + i in each lane, for i < count.
static void load_pairs(const AttentionProblem& problem, const Pairs& pairs, int64_t k, int64_t count,
                       Vec (&values)[kLanes]) {
  if (pairs.is_uniform) {
    float row[kLanes];
    store(row, load_pair_row(problem, pairs, 0, k, count));
    for (int i = 0; i < kLanes; ++i) values[i] = broadcast(row[i]);
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane) values[lane] = load_pair_row(problem, pairs, lane, k, count);
  transpose(values);
}

// The position of a query.
HEED_INLINE int64_t position_of(const TileTask& task, int64_t query) {
  const Operand& positions = task.problem->limits.positions;
  if (positions.data == nullptr) return task.sequence->query_position + query;
  const int64_t index =
      task.batch_index * positions.strides[0] + (task.sequence->query_begin + query) * positions.strides[2];
  return positions.dtype == DType::I32 ? static_cast<const int32_t*>(positions.data)[index]
                                       : static_cast<const int64_t*>(positions.data)[index];
}

// ALiBi's slopes and distances for a vector of rows.
struct Alibi {
  Vec factors;    // the slope of each row's head, negated
  Vec distances;  // position of each row's query minus that of the key block's first key
  int64_t index;  // of key k0 in the key block

  // The score of the key with that index in the key block.
  HEED_INLINE_MEMBER Vec added_to(Vec score, Vec index_of_key) const {
    const Vec distance = distances - index_of_key;
    return fma(factors, from_bits(bits_of(distance) & broadcast(int32_t{0x7fffffff})), score);
  }
};

// A distance beyond 2^24 is rounded, and rounded again when a key's index in its key block is subtracted. So a score does
// not depend on which keys are computed together.
static Alibi load_alibi(const TileTask& task, const QueryTile& query_tile, int64_t first_lane, int64_t k0) {
  const Operand& operand = task.problem->alibi_slopes;
  const int64_t index = k0 % kBlockKeys;
  const int64_t key = task.sequence->key_position + k0 - index;
  float factors[kLanes] = {};
  float distances[kLanes] = {};
  visit_rows(task, query_tile, first_lane, [&](int64_t lane, int64_t head, int64_t query) {
    factors[lane] = -static_cast<const float*>(operand.data)[head * operand.strides[1]];
    distances[lane] = static_cast<float>(position_of(task, query) - key);
  });
  return {load(factors), load(distances), index};
}

// ---- relative bias --------------------------------------------------------------------------------------------------
// A task expands the biases of its heads by distance. Element i belongs to the distance max_distance - i from query to
// key, and elements below 0 and above 2 * max_distance repeat the ends: so consecutive queries of a head read consecutive
// elements for one key, and the elements before for the next keys, wherever the distances are limited.

// Elements before 0 and after 2 * max_distance: as many as a vector of queries and a tile of keys can reach.
constexpr int64_t kRepeatedEnds = kLanes + kTileRows;

// Floats of one head.
HEED_INLINE int64_t relative_bias_floats(const AttentionProblem& problem) {
  return problem.relative_bias.given != 0 ? round_up(2 * problem.max_distance + 1 + 2 * kRepeatedEnds, kLanes) : 0;
}

// Floats of all heads that share a key head.
HEED_INLINE int64_t all_relative_bias_floats(const AttentionProblem& problem) {
  return problem.num_heads / problem.num_kv_heads * relative_bias_floats(problem);
}

static void expand_relative_bias(const AttentionProblem& problem, int64_t kv_head, float* to) {
  if (problem.relative_bias.given == 0) return;
  const Operand& table = problem.relative_bias;
  const int64_t group = problem.num_heads / problem.num_kv_heads;
  const int64_t last = 2 * problem.max_distance;
  for (int64_t g = 0; g < group; ++g) {
    float* biases = to + g * relative_bias_floats(problem) + kRepeatedEnds;
    for (int64_t i = -kRepeatedEnds; i <= last + kRepeatedEnds; ++i) {
      const int64_t entry = last - smaller(larger(i, 0), last);
      const int64_t index = (kv_head * group + g) * table.strides[1] + problem.buckets[entry] * table.strides[3];
      biases[i] = load_element(element_address(table, index), table.dtype);
    }
  }
}

// Where a vector of rows reads its biases.
struct RelativeBias {
  const float* biases[kLanes];  // of each row's head; null for lanes without a row
  int64_t elements[kLanes];     // of the first key; that of key k is k less
  int64_t last;
  // If the rows are consecutive queries of one head, its biases; else null.
  const float* consecutive;
};

static RelativeBias find_relative_bias(const TileTask& task, const QueryTile& query_tile, int64_t first_lane,
                                       int64_t k0) {
  const AttentionProblem& problem = *task.problem;
  const int64_t first_head = task.kv_head * (problem.num_heads / problem.num_kv_heads);
  RelativeBias bias = {};
  bias.last = 2 * problem.max_distance;
  bool is_consecutive = true;
  const int64_t origin = problem.max_distance - task.sequence->key_position - k0;
  visit_rows(task, query_tile, first_lane, [&](int64_t lane, int64_t head, int64_t query) {
    bias.biases[lane] = task.relative_bias + (head - first_head) * relative_bias_floats(problem) + kRepeatedEnds;
    bias.elements[lane] = origin + position_of(task, query);
    is_consecutive =
        is_consecutive && bias.biases[lane] == bias.biases[0] && bias.elements[lane] == bias.elements[0] + lane;
  });
  bias.consecutive = is_consecutive ? bias.biases[0] : nullptr;
  return bias;
}

// The biases of key k0 + k, element by element.
HEED_NOINLINE Vec gather_relative_bias(const RelativeBias& bias, int64_t k) {
  float row[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const int64_t element = smaller(larger(bias.elements[lane] - k, 0), bias.last);
    row[lane] = bias.biases[lane] != nullptr ? bias.biases[lane][element] : 0.0f;
  }
  return load(row);
}

// With consecutive queries: the biases of key k0 + k; those of key k0 + k + i, up to a tile of keys, are i floats before.
HEED_INLINE const float* consecutive_biases(const RelativeBias& bias, int64_t k) {
  return bias.consecutive + smaller(larger(bias.elements[0] - k, -kLanes), bias.last + kTileRows);
}

// ---- terms of distances ----------------------------------------------------------------------------------------------

// Whether scores have terms that depend on the distance from query to key.
HEED_INLINE bool has_distance_terms(const AttentionProblem& problem) {
  return problem.alibi_slopes.data != nullptr || problem.relative_bias.data != nullptr;
}

// The terms of distances of a vector of rows: ALiBi, then relative bias.
struct DistanceTerms {
  Alibi alibi;
  RelativeBias relative;
  bool has_alibi;
  bool has_relative;

  // The score of key k0 + k with the terms.
  HEED_INLINE_MEMBER Vec added_to(Vec score, int64_t k) const {
    if (has_alibi) score = alibi.added_to(score, broadcast(static_cast<float>(alibi.index + k)));
    if (!has_relative) return score;
    return score + (relative.consecutive == nullptr ? gather_relative_bias(relative, k)
                                                    : load(consecutive_biases(relative, k)));
  }
};

static DistanceTerms find_distance_terms(const TileTask& task, const QueryTile& query_tile, int64_t first_lane,
                                         int64_t k0) {
  DistanceTerms terms = {};
  terms.has_alibi = task.problem->alibi_slopes.data != nullptr;
  terms.has_relative = task.problem->relative_bias.data != nullptr;
  if (terms.has_alibi) terms.alibi = load_alibi(task, query_tile, first_lane, k0);
  if (terms.has_relative) terms.relative = find_relative_bias(task, query_tile, first_lane, k0);
  return terms;
}

// The distance between consecutive vectors of scores; the rows of a query tile are contiguous.
template <int vectors>
constexpr int64_t kScoreStep = vectors == kTileVectors ? kLanes : kQueryTileRows;

template <int vectors>
static void scale_scores(float scale, int64_t count, float* scores) {
  for (int64_t i = 0; i < count * vectors; ++i) {
    float* address = scores + i * kScoreStep<vectors>;
    store(address, load(address) * broadcast(scale));
  }
}

// Scores s of `count` keys become cap * tanh(s / cap).
template <int vectors>
static void cap_scores(float cap, int64_t count, float* scores) {
  cap_vectors<kScoreStep<vectors>>(cap, count * vectors, scores);
}

// The keys of a block that each row of a vector sees by its key range: those with index firsts <= k < ends.
struct SeenKeys {
  IntVec firsts;
  IntVec ends;
};

// Indices count from key k0 and are limited to 0 .. count.
static SeenKeys find_seen_keys(const QueryTile& query_tile, int64_t first_lane, int64_t k0, int64_t count) {
  static_assert(sizeof(KeyRange) == 2 * sizeof(int64_t));
  int64_t bounds[2 * kLanes];  // first and end of each lane
  if (first_lane + kLanes <= query_tile.num_rows) {
    __builtin_memcpy(bounds, query_tile.key_ranges + first_lane, sizeof bounds);
  } else {
    for (int lane = 0; lane < kLanes; ++lane) {
      // Lanes without a row have the key range of the last row.
      const KeyRange range = query_tile.key_ranges[smaller(first_lane + lane, query_tile.num_rows - 1)];
      bounds[2 * lane] = range.first;
      bounds[2 * lane + 1] = range.end;
    }
  }
  // One loop over contiguous elements, which the compiler vectorizes.
  int32_t indices[2 * kLanes];
  for (int i = 0; i < 2 * kLanes; ++i) indices[i] = static_cast<int32_t>(smaller(larger(bounds[i] - k0, 0), count));
  IntVec firsts = load(indices);
  IntVec ends = load(indices + kLanes);
  separate(firsts, ends);
  return {firsts, ends};
}

// Hides keys k0 .. k1 - 1 from the rows of a vector whose key range does not contain them, and returns the maximum of
// `largest` and the scores. add_terms(k, score, sees) may change the score of key k0 + k and clear lanes of `sees`.
template <typename AddTerms>
HEED_INLINE Vec hide_keys(const TileTask& task, const QueryTile& query_tile, int64_t first_lane, int64_t begin,
                          int64_t k0, int64_t k1, Vec largest, const AddTerms& add_terms) {
  const SeenKeys range = find_seen_keys(query_tile, first_lane, k0, k1 - k0);
  float* scores = task.scores + (k0 - begin) * kQueryTileRows + first_lane;
  int32_t* seen = task.seen + (k0 - begin) * kQueryTileRows + first_lane;
  IntVec sees_any = load(query_tile.sees_any + first_lane);
  for (int64_t k = 0; k < k1 - k0; ++k) {
    const IntVec key = broadcast(static_cast<int32_t>(k));
    IntVec sees = (key >= range.firsts) & (key < range.ends);
    Vec score = load(scores + k * kQueryTileRows);
    add_terms(k, score, sees);
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
    return hide_keys(task, query_tile, first_lane, begin, k0, k1, largest,
                     [&](int64_t k, Vec& score, IntVec&) { score = terms.added_to(score, k); });
  }
  const Pairs pairs = find_pairs(task, query_tile, first_lane);
  Vec added[kLanes] = {};
  return hide_keys(task, query_tile, first_lane, begin, k0, k1, largest, [&](int64_t k, Vec& score, IntVec& sees) {
    if (k % kLanes == 0) load_pairs(problem, pairs, k0 + k, smaller(kLanes, k1 - k0 - k), added);
    score = terms.added_to(score, k) + added[k % kLanes];
    sees &= added[k % kLanes] != broadcast(-kInfinity);
  });
}

// Turns products of keys k0 .. k1 - 1 into scores, in the order of rule 3: soft cap, ALiBi, relative bias, bias,
// hiding. `begin`: the
// first key of the block. Hidden scores become -inf. Updates `maximum` and query_tile.sees_any, and sets task.seen.
template <int vectors>
static void finish_scores(const TileTask& task, const QueryTile& query_tile, int64_t begin, int64_t k0, int64_t k1,
                          Vec (&maximum)[vectors]) {
  const AttentionProblem& problem = *task.problem;
  const bool has_terms = problem.mask.data != nullptr || problem.bias.data != nullptr || has_distance_terms(problem);
  const int64_t count = k1 - k0;
  float* scores = task.scores + (k0 - begin) * kQueryTileRows;
  // Additive scores are scaled already.
  if (task.arguments->is_additive == 0 && task.arguments->score_scale != 1)
    scale_scores<vectors>(task.arguments->score_scale, count, scores);
  if (problem.soft_cap != 0) cap_scores<vectors>(problem.soft_cap, count, scores);
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
      has_distance_terms(problem) && (task.arguments->is_additive != 0 || task.row_queries != nullptr);
  const bool are_products = problem.bias.data == nullptr && !adds_terms && problem.soft_cap == 0 && is_scaled &&
                            first < end &&
                            (problem.mask.data == nullptr || mask_hides_nothing(task, query_tile, first, end));
  k0 = are_products ? first : k0;
  k1 = are_products ? end : k0;
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
