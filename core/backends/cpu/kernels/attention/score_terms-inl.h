// SPDX-License-Identifier: Apache-2.0
// The terms of a score, in the order of rule 3 of docs/semantics.md: the product times the scale, the soft cap, ALiBi, the
// relative bias, and the bias; and what hides a key: the mask, a bias of -inf, and ranges of keys or of distances. Sinks,
// which belong to no key, are in constant_keys-inl.h.
//
// A vector has the scores of some pairs of query and key. In a query tile its lanes are queries, which share a key
// (QueryLanes); in a row of a cache its lanes are keys, which share a query (KeyLanes). add_terms is the same for both: they
// differ only in where a lane has its distance, its slope and its elements of mask and bias.
#pragma once

#include "backends/cpu/kernels/attention/attention.h"
#include "backends/cpu/kernels/attention/exponentials-inl.h"
#include "backends/cpu/kernels/attention/query_tile-inl.h"
#include "backends/cpu/kernels/linear/micro_kernel-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "backends/cpu/kernels/simd/tanh-inl.h"
#include "ops/cached_keys.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// ---- scale and soft cap ---------------------------------------------------------------------------------------------

// Products p of `count` vectors, `step` floats apart, become cap * tanh(scale * p / cap), or scale * p if the cap is 0.
template <int64_t step>
static void scale_and_cap(float scale, float soft_cap, int64_t count, float* scores) {
  for (int64_t i = 0; scale != 1 && i < count; ++i)
    store(scores + i * step, load(scores + i * step) * broadcast(scale));
  if (soft_cap != 0) cap_vectors<step>(soft_cap, count, scores);
}

// ---- ALiBi ----------------------------------------------------------------------------------------------------------

// Adds -slope * |distance|. `factor`: the slope, negated.
HEED_INLINE Vec add_alibi(Vec score, Vec factor, Vec distance) {
  return fma(factor, from_bits(bits_of(distance) & broadcast(int32_t{0x7fffffff})), score);
}

// ---- relative bias --------------------------------------------------------------------------------------------------
// A task expands the biases of its heads by distance, in the order of the lanes. Element i belongs to the distance from
// query to key that is max_distance - i if lanes are queries, and i - max_distance if they are keys; elements below 0 and
// above 2 * max_distance repeat the ends. So the consecutive queries of one head, or the consecutive keys of one query, read
// consecutive elements, wherever the distances are limited.

enum class LanesAre { Queries, Keys };

// Elements before 0 and after 2 * max_distance: as many as a vector of queries and a tile of keys can reach.
constexpr int64_t kRepeatedEnds = kLanes + kTileRows;

// Floats of one head.
HEED_INLINE int64_t relative_bias_floats(const AttentionProblem& problem) {
  return problem.relative_bias.given != 0 ? round_up(2 * problem.max_distance + 1 + 2 * kRepeatedEnds, kLanes) : 0;
}

// Floats of all heads that share a key head.
HEED_INLINE int64_t all_relative_bias_floats(const AttentionProblem& problem) {
  return group_size(problem) * relative_bias_floats(problem);
}

template <LanesAre lanes>
static void expand_relative_bias(const AttentionProblem& problem, int64_t kv_head, float* to) {
  if (problem.relative_bias.given == 0) return;
  const Operand& table = problem.relative_bias;
  const int64_t group = group_size(problem);
  const int64_t last = 2 * problem.max_distance;
  for (int64_t g = 0; g < group; ++g) {
    float* biases = to + g * relative_bias_floats(problem) + kRepeatedEnds;
    for (int64_t i = -kRepeatedEnds; i <= last + kRepeatedEnds; ++i) {
      const int64_t element = smaller(larger(i, 0), last);
      const int64_t entry = lanes == LanesAre::Queries ? last - element : element;
      const int64_t index = (kv_head * group + g) * table.strides[1] + problem.buckets[entry] * table.strides[3];
      biases[i] = load_element(element_address(table, index), table.dtype);
    }
  }
}

// Element 0 of the biases of a head, the `number`th of those that share a key head.
HEED_INLINE const float* relative_biases_of(const AttentionProblem& problem, const float* expanded, int64_t number) {
  return expanded + number * relative_bias_floats(problem) + kRepeatedEnds;
}

// `last`: 2 * max_distance.
HEED_INLINE float relative_bias_of(const float* biases, int64_t element, int64_t last) {
  return biases[smaller(larger(element, 0), last)];
}
// The biases of consecutive lanes, of which the first reads that element. If lanes are queries, the biases for the i-th of
// the next keys, up to a tile of keys, begin i floats earlier.
HEED_INLINE const float* consecutive_biases(const float* biases, int64_t element, int64_t last) {
  return biases + smaller(larger(element, -kLanes), last + kTileRows);
}

// ---- mask and bias --------------------------------------------------------------------------------------------------

// A query's row of the mask and of the bias; null: none. A row may begin with a later key than key 0, as those of a cache's
// new rows do: the row hides no key before its first one, and their bias is 0. With begins_at_0 both rows begin with key 0, and
// no test for earlier keys is compiled.
template <bool begins_at_0>
struct PairRow {
  const char* mask;  // bytes
  const char* bias;
  int64_t first_of_mask;
  int64_t first_of_bias;
};

// Elements i .. i + count - 1 of a row of a bias; 0 before element 0. The other lanes are undefined.
template <bool begins_at_0>
HEED_INLINE Vec load_bias(const Operand& operand, const char* row, int64_t i, int64_t count) {
  const int64_t step = operand.strides[3] * size_of_element(operand.dtype);
  if (!begins_at_0 && i < 0) {
    float values[kLanes] = {};
    for (int64_t lane = -i; lane < count; ++lane) values[lane] = load_element(row + (i + lane) * step, operand.dtype);
    return load(values);
  }
  if (step == 0) return broadcast(load_element(row, operand.dtype));
  return gather_first_elements(row + i * step, operand.dtype, operand.strides[3], count);
}

// Whether a mask shows elements i .. i + count - 1 of a row; elements before 0 are shown. The other lanes are undefined.
template <bool begins_at_0>
HEED_INLINE IntVec load_mask(const Operand& operand, const char* row, int64_t i, int64_t count) {
  const int64_t stride = operand.strides[3];
  uint8_t bytes[kLanes];
  if (stride == 1 && (begins_at_0 || i >= 0) && count == kLanes) {
    __builtin_memcpy(bytes, row + i, kLanes);
  } else if (stride == 0 && (begins_at_0 || i >= 0)) {
    __builtin_memset(bytes, *row, kLanes);
  } else {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      bytes[lane] =
          lane < count && (begins_at_0 || i + lane >= 0) ? static_cast<uint8_t>(row[(i + lane) * stride]) : uint8_t{1};
  }
  return load_bytes(bytes) != IntVec{};
}

// What mask and bias add to the scores of keys k .. k + count - 1: the bias or 0, and -inf where the mask is false. The
// other lanes are undefined. Inline, as the two above: a query tile calls it for every lane, and calls took a fifth of the time of
// attention with a bias.
template <bool begins_at_0>
HEED_INLINE Vec load_pair_row(const AttentionProblem& problem, const PairRow<begins_at_0>& row, int64_t k,
                              int64_t count) {
  Vec value{};
  if (row.bias != nullptr) value = load_bias<begins_at_0>(problem.bias, row.bias, k - row.first_of_bias, count);
  if (row.mask != nullptr)
    value = select(load_mask<begins_at_0>(problem.mask, row.mask, k - row.first_of_mask, count), value,
                   broadcast(-kInfinity));
  return value;
}

// ---- ranges ----------------------------------------------------------------------------------------------------------

// Which keys the lanes of a vector see by their ranges: those with index firsts <= k < ends.
struct SeenKeys {
  IntVec firsts;
  IntVec ends;

  HEED_INLINE_MEMBER IntVec contain(IntVec index) const { return (index >= firsts) & (index < ends); }
};

// Whether a range contains each key of the vector that begins with key k.
HEED_INLINE IntVec is_in(KeyRange range, int64_t k) {
  const auto first = static_cast<int32_t>(smaller(larger(range.first - k, 0), kLanes));
  const auto end = static_cast<int32_t>(smaller(larger(range.end - k, 0), kLanes));
  return SeenKeys{broadcast(first), broadcast(end)}.contain(lane_numbers());
}

// ---- all terms ------------------------------------------------------------------------------------------------------

// Adds the terms of a vector of pairs to the scores, and clears lanes of `sees` that window, mask or bias hide.
template <typename Pairs>
HEED_INLINE Vec add_terms(const Pairs& pairs, Vec score, IntVec& sees) {
  if (pairs.has_alibi()) score = pairs.with_alibi(score);
  if (pairs.has_relative_bias()) score += pairs.relative_bias();
  if (pairs.has_window()) sees &= pairs.is_in_window();
  if (pairs.has_pair_terms()) {
    const Vec added = pairs.pair_terms();
    score += added;
    sees &= added != broadcast(-kInfinity);
  }
  return score;
}

// ---- lanes are queries ----------------------------------------------------------------------------------------------

// Where a vector of rows of a query tile has its mask and bias.
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

// Sets values[i] to the bias and mask of key k + i in each lane, for i < count.
static void load_pairs(const AttentionProblem& problem, const Pairs& pairs, int64_t k, int64_t count,
                       Vec (&values)[kLanes]) {
  const auto load_row = [&](int lane) {
    return load_pair_row(problem, PairRow<true>{pairs.mask_rows[lane], pairs.bias_rows[lane], 0, 0}, k, count);
  };
  if (pairs.is_uniform) {
    float row[kLanes];
    store(row, load_row(0));
    for (int i = 0; i < kLanes; ++i) values[i] = broadcast(row[i]);
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane) values[lane] = load_row(lane);
  transpose(values);
}

// The positions of queries and keys, if these do not continue; else null.
HEED_INLINE const CachedElement* given_positions(const TileTask& task) {
  return task.problem->cached.has_positions != 0 ? task.problem->cached.elements + task.batch_index : nullptr;
}

// The position of a query.
HEED_INLINE int64_t position_of(const TileTask& task, int64_t query) {
  if (const CachedElement* given = given_positions(task)) return given->query_positions[query];
  const Operand& positions = task.problem->limits.positions;
  if (positions.data == nullptr) return task.sequence->query_position + query;
  const int64_t index =
      task.batch_index * positions.strides[0] + (task.sequence->query_begin + query) * positions.strides[2];
  return positions.dtype == DType::I32 ? static_cast<const int32_t*>(positions.data)[index]
                                       : static_cast<const int64_t*>(positions.data)[index];
}

// ALiBi's slopes and distances for a vector of rows of a query tile.
struct Alibi {
  Vec factors;    // the slope of each row's head, negated
  Vec distances;  // position of each row's query minus that of the key block's first key
  int64_t index;  // of key k0 in the key block

  // The score of the key with that index in the key block.
  HEED_INLINE_MEMBER Vec added_to(Vec score, Vec index_of_key) const {
    return add_alibi(score, factors, distances - index_of_key);
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

// Where a vector of rows of a query tile reads its biases.
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
  const int64_t first_head = task.kv_head * group_size(problem);
  RelativeBias bias = {};
  bias.last = 2 * problem.max_distance;
  bool is_consecutive = true;
  const int64_t origin = problem.max_distance - task.sequence->key_position - k0;
  visit_rows(task, query_tile, first_lane, [&](int64_t lane, int64_t head, int64_t query) {
    bias.biases[lane] = relative_biases_of(problem, task.relative_bias, head - first_head);
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
    const float* biases = bias.biases[lane];
    row[lane] = biases != nullptr ? relative_bias_of(biases, bias.elements[lane] - k, bias.last) : 0.0f;
  }
  return load(row);
}

// With consecutive queries: the biases of key k0 + k.
HEED_INLINE const float* consecutive_biases(const RelativeBias& bias, int64_t k) {
  return consecutive_biases(bias.consecutive, bias.elements[0] - k, bias.last);
}

// Whether scores have terms that depend on the distance from query to key.
HEED_INLINE bool has_distance_terms(const AttentionProblem& problem) {
  return problem.alibi_slopes.data != nullptr || problem.relative_bias.data != nullptr;
}

// Whether terms, or the window, compare the given positions of each pair of query and key.
HEED_INLINE bool compares_positions(const AttentionProblem& problem) {
  return problem.cached.has_positions != 0 && (has_distance_terms(problem) || problem.cached.has_window != 0);
}

// The terms of distances of a vector of rows of a query tile.
struct DistanceTerms {
  Alibi alibi;
  RelativeBias relative;
  // If positions of keys do not continue: those of key k0 on, of the rows, and the window. Else null.
  const int32_t* keys;
  bool has_alibi;
  bool has_relative;
  bool has_window;
  IntVec queries;
  IntVec window_left;
  IntVec window_right;
};

// What find_distance_terms adds where each pair of positions is compared.
HEED_NOINLINE void find_positions(const TileTask& task, const QueryTile& query_tile, int64_t first_lane, int64_t k0,
                                  DistanceTerms& terms) {
  const CachedKeys& cached = task.problem->cached;
  const CachedElement& given = *given_positions(task);
  int32_t queries[kLanes] = {};
  visit_rows(task, query_tile, first_lane,
             [&](int64_t lane, int64_t, int64_t query) { queries[lane] = given.query_positions[query]; });
  terms.keys = given.positions + k0;
  terms.queries = load(queries);
  terms.has_window = cached.has_window != 0;
  terms.window_left = broadcast(static_cast<int32_t>(-smaller(cached.window_left, INT32_MAX)));
  terms.window_right = broadcast(static_cast<int32_t>(smaller(cached.window_right, INT32_MAX)));
  // A relative bias is read by k, which takes the place of the key's number.
  terms.relative.consecutive = nullptr;
  for (int64_t& element : terms.relative.elements) element += k0 + task.sequence->key_position;
}

static DistanceTerms find_distance_terms(const TileTask& task, const QueryTile& query_tile, int64_t first_lane,
                                         int64_t k0) {
  DistanceTerms terms = {};
  terms.has_alibi = task.problem->alibi_slopes.data != nullptr;
  terms.has_relative = task.problem->relative_bias.data != nullptr;
  if (terms.has_alibi) terms.alibi = load_alibi(task, query_tile, first_lane, k0);
  if (terms.has_relative) terms.relative = find_relative_bias(task, query_tile, first_lane, k0);
  if (task.problem->cached.has_positions != 0) find_positions(task, query_tile, first_lane, k0, terms);
  return terms;
}

// The pairs of a vector of rows of a query tile with key k0 + k.
template <bool has_pairs>
struct QueryLanes {
  const DistanceTerms& terms;
  int64_t k;
  Vec added;  // of mask and bias

  // Position of the key - positions of the queries, where each pair is compared.
  HEED_INLINE_MEMBER IntVec distances() const { return broadcast(terms.keys[k]) - terms.queries; }

  HEED_INLINE_MEMBER bool has_alibi() const { return terms.has_alibi; }
  HEED_INLINE_MEMBER Vec with_alibi(Vec score) const {
    if (terms.keys != nullptr) return add_alibi(score, terms.alibi.factors, __builtin_convertvector(distances(), Vec));
    return terms.alibi.added_to(score, broadcast(static_cast<float>(terms.alibi.index + k)));
  }

  HEED_INLINE_MEMBER bool has_relative_bias() const { return terms.has_relative; }
  HEED_INLINE_MEMBER Vec relative_bias() const {
    if (terms.relative.consecutive == nullptr)
      return gather_relative_bias(terms.relative, terms.keys != nullptr ? terms.keys[k] : k);
    return load(consecutive_biases(terms.relative, k));
  }

  // Otherwise the key ranges contain the window.
  HEED_INLINE_MEMBER bool has_window() const { return terms.has_window; }
  HEED_INLINE_MEMBER IntVec is_in_window() const {
    const IntVec distance = distances();
    return (distance >= terms.window_left) & (distance <= terms.window_right);
  }

  static constexpr bool has_pair_terms() { return has_pairs; }
  HEED_INLINE_MEMBER Vec pair_terms() const { return added; }
};

// Terms of distances for the vectors of a query tile and some keys, whose scores are in registers.
template <int vectors>
struct TileTerms {
  DistanceTerms of_vectors[vectors];

  // Adds the terms of keys k0 + k .. k0 + k + rows - 1, at most a tile of keys, to their scores.
  template <int rows>
  HEED_INLINE_MEMBER void add_to(Vec (&scores)[rows][vectors], int64_t k) const {
    if (of_vectors[0].has_alibi) {
      const Vec first = broadcast(static_cast<float>(of_vectors[0].alibi.index + k));
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v)
          scores[i][v] = of_vectors[v].alibi.added_to(scores[i][v], first + static_cast<float>(i));
      }
    }
    if (!of_vectors[0].has_relative) return;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const RelativeBias& relative = of_vectors[v].relative;
      if (relative.consecutive == nullptr) {
        for (int i = 0; i < rows; ++i) scores[i][v] += gather_relative_bias(relative, k + i);
        continue;
      }
      const float* biases = consecutive_biases(relative, k);
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) scores[i][v] += load(biases - i);
    }
  }
};

// The keys of a block that each row of a vector of a query tile sees by its key range.
// Indices count from key k0 and are limited to 0 .. count.
static SeenKeys find_seen_keys(const QueryTile& query_tile, int64_t first_lane, int64_t k0, int64_t count) {
  static_assert(sizeof(KeyRange) == 2 * sizeof(int64_t));
  int64_t bounds[2 * kLanes];  // first and end of each lane
  if (first_lane + kLanes <= query_tile.num_rows) {
    __builtin_memcpy(bounds, query_tile.key_ranges + first_lane, sizeof bounds);
  } else {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      // Lanes without a row have the key range of the last row.
      const KeyRange range = query_tile.key_ranges[smaller(first_lane + lane, query_tile.num_rows - 1)];
      bounds[2 * lane] = range.first;
      bounds[2 * lane + 1] = range.end;
    }
  }
  // Both bounds in one loop over contiguous elements, so that the compiler vectorizes it.
  int32_t indices[2 * kLanes];
  for (int i = 0; i < 2 * kLanes; ++i) indices[i] = static_cast<int32_t>(smaller(larger(bounds[i] - k0, 0), count));
  IntVec firsts = load(indices);
  IntVec ends = load(indices + kLanes);
  separate(firsts, ends);
  return {firsts, ends};
}

// ---- lanes are keys --------------------------------------------------------------------------------------------------

// The terms of a row of an attention over a cache.
struct RowTerms {
  const AttentionProblem* problem;
  const CachedRow* row;
  PairRow<false> pairs;
  const float* relative_bias;  // element 0 of its head; null: none
  float scale;
  float slope;  // of ALiBi, negated
  bool has_alibi;
  bool has_distances;  // whether a term or the window depends on the distance from query to key
  bool has_terms;      // whether add_terms does anything

  // Whether products are not the final scores of visible keys.
  HEED_INLINE_MEMBER bool has_any() const { return has_terms || scale != 1 || problem->soft_cap != 0; }
};

HEED_INLINE const char* pair_row(const Operand& operand, const CachedRow& row, int64_t size) {
  if (operand.data == nullptr) return nullptr;
  return static_cast<const char*>(operand.data) +
         (row.batch_index * operand.strides[0] + row.head * operand.strides[1] + row.query * operand.strides[2]) * size;
}

static RowTerms find_terms(const AttentionArguments& arguments, const CachedRow& row, const float* relative_bias) {
  const AttentionProblem& problem = *arguments.problem;
  const CachedKeys& cached = problem.cached;
  const Sequence& sequence = *row.sequence;
  RowTerms terms = {};
  terms.problem = &problem;
  terms.row = &row;
  terms.pairs.mask = pair_row(problem.mask, row, 1);
  if (problem.bias.data != nullptr) terms.pairs.bias = pair_row(problem.bias, row, size_of_element(problem.bias.dtype));
  const int64_t first_new = sequence.key_count - sequence.query_count;
  terms.pairs.first_of_mask = cached.mask_of_new_rows != 0 ? first_new : 0;
  terms.pairs.first_of_bias = cached.bias_of_new_rows != 0 ? first_new : 0;
  terms.scale = arguments.score_scale;
  terms.has_alibi = problem.alibi_slopes.data != nullptr;
  if (terms.has_alibi)
    terms.slope = -static_cast<const float*>(problem.alibi_slopes.data)[row.head * problem.alibi_slopes.strides[1]];
  if (problem.relative_bias.data != nullptr)
    terms.relative_bias = relative_biases_of(problem, relative_bias, row.head % group_size(problem));
  terms.has_distances = terms.has_alibi || terms.relative_bias != nullptr || cached.has_window != 0;
  terms.has_terms = terms.has_distances || terms.pairs.mask != nullptr || terms.pairs.bias != nullptr;
  return terms;
}

// Where lanes are the keys k .. k + count - 1 of one query: their positions - that of the query; 0 in further lanes.
HEED_INLINE IntVec distances_of_keys(const int32_t* positions, int64_t k, int64_t count, int64_t position) {
  int32_t of_lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) of_lanes[i] = static_cast<int32_t>(positions[k + i] - position);
  return load(of_lanes);
}

// The relative biases of the distances of keys. `are_consecutive`: each is one more than that of the lane before.
HEED_INLINE Vec relative_biases_of_keys(const float* biases, const IntVec& distances, bool are_consecutive,
                                        int64_t max_distance) {
  const int64_t last = 2 * max_distance;
  if (are_consecutive) return load(consecutive_biases(biases, distances[0] + max_distance, last));
  float of_lanes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    of_lanes[lane] = relative_bias_of(biases, distances[lane] + max_distance, last);
  return load(of_lanes);
}

HEED_INLINE IntVec is_in_window_of(const CachedKeys& cached, IntVec distances) {
  return (distances >= broadcast(static_cast<int32_t>(-smaller(cached.window_left, INT32_MAX)))) &
         (distances <= broadcast(static_cast<int32_t>(smaller(cached.window_right, INT32_MAX))));
}

// The pairs of a row of a cache with the keys of a vector.
struct KeyLanes {
  const RowTerms& terms;
  int64_t k;  // of the first lane
  int64_t count;
  IntVec distances = {};  // position of the key - position of the query, if the terms have distances

  // Keys k .. k + count - 1.
  HEED_INLINE_MEMBER KeyLanes(const RowTerms& row_terms, int64_t first, int64_t num_keys)
      : terms(row_terms), k(first), count(num_keys) {
    if (!terms.has_distances) return;
    const CachedRow& row = *terms.row;
    if (row.element->positions == nullptr) {
      distances = lane_numbers() + static_cast<int32_t>(row.sequence->key_position + k - row.position);
      return;
    }
    distances = distances_of_keys(row.element->positions, k, count, row.position);
  }

  HEED_INLINE_MEMBER bool has_alibi() const { return terms.has_alibi; }
  HEED_INLINE_MEMBER Vec with_alibi(Vec score) const {
    return add_alibi(score, broadcast(terms.slope), __builtin_convertvector(distances, Vec));
  }

  HEED_INLINE_MEMBER bool has_relative_bias() const { return terms.relative_bias != nullptr; }
  HEED_INLINE_MEMBER Vec relative_bias() const {
    return relative_biases_of_keys(terms.relative_bias, distances, terms.row->element->positions == nullptr,
                                   terms.problem->max_distance);
  }

  HEED_INLINE_MEMBER bool has_window() const { return terms.problem->cached.has_window != 0; }
  HEED_INLINE_MEMBER IntVec is_in_window() const { return is_in_window_of(terms.problem->cached, distances); }

  HEED_INLINE_MEMBER bool has_pair_terms() const { return terms.pairs.mask != nullptr || terms.pairs.bias != nullptr; }
  HEED_INLINE_MEMBER Vec pair_terms() const { return load_pair_row(*terms.problem, terms.pairs, k, count); }
};

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
