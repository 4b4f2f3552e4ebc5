// SPDX-License-Identifier: Apache-2.0
// Scores that every row has beside those of the call's keys: its head's sink, the bias key and the zero key
// (ops/attention.h). A row begins with them, before any key, so that maximum, total and sums contain them from the start.
#pragma once

#include "backends/cpu/kernels/attention/attention.h"
#include "backends/cpu/kernels/attention/block-inl.h"
#include "backends/cpu/kernels/attention/query_tile-inl.h"
#include "backends/cpu/kernels/attention/repaired_sums-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

HEED_INLINE bool has_constant_scores(const AttentionProblem& problem) {
  return problem.sinks.data != nullptr || num_constant_keys(problem) > 0;
}

// The scores of a constant key, or of zeros if `key` is null, from the query tile's queries or, in the decode kernel, from
// its rows. Those of zeros are NaN where a query is not finite.
static void score_constant_key(const TileTask& task, const QueryTile& query_tile, const float* key, float* scores) {
  const AttentionProblem& problem = *task.problem;
  const auto element = [&](int64_t d) { return key != nullptr ? key[d] : 0.0f; };
  if (task.row_queries != nullptr) {
    const int64_t stride = row_stride(problem.head_size);
    const int64_t whole = problem.head_size / kLanes * kLanes;
    for (int64_t i = 0; i < kQueryTileRows; ++i) scores[i] = 0.0f;
    for (int64_t r = 0; r < query_tile.num_rows; ++r) {
      const float* query = task.row_queries + r * stride;
      Vec sum{};
      for (int64_t d = 0; d < whole; d += kLanes)
        sum = fma(load(query + d), key != nullptr ? load(key + d) : Vec{}, sum);
      scores[r] = sum_of_lanes(sum);
      const float* tail = query + whole + tail_lane(problem.head_size);
      for (int64_t d = whole; d < problem.head_size; ++d) scores[r] += tail[d - whole] * element(d);
    }
  } else {
    for (int64_t first_lane = 0; first_lane < kQueryTileRows; first_lane += kLanes) {
      Vec sum{};
      for (int64_t d = 0; first_lane < query_tile.num_rows && d < problem.head_size; ++d)
        sum = fma(load(query_tile.queries + d * kQueryTileRows + first_lane), broadcast(element(d)), sum);
      store(scores + first_lane, sum);
    }
  }
  for (int64_t first_lane = 0; first_lane < kQueryTileRows; first_lane += kLanes) {
    scale_and_cap<kLanes>(task.arguments->score_scale, problem.soft_cap, 1, scores + first_lane);
  }
}

HEED_INLINE float sink_of(const AttentionProblem& problem, int64_t head) {
  return load_element(element_address(problem.sinks, head * problem.sinks.strides[1]), problem.sinks.dtype);
}

static Vec sinks_of_rows(const TileTask& task, const QueryTile& query_tile, int64_t first_lane) {
  float scores[kLanes] = {};
  visit_rows(task, query_tile, first_lane,
             [&](int64_t lane, int64_t head, int64_t) { scores[lane] = sink_of(*task.problem, head); });
  return load(scores);
}

// The constant scores of a vector of rows; -inf for those that the problem lacks.
struct ConstantScores {
  Vec sink = broadcast(-kInfinity);
  Vec bias = broadcast(-kInfinity);
  Vec zero = broadcast(-kInfinity);
};

// Maximum and total of a vector of rows before their first key: those of the constant scores.
struct ConstantSums {
  Vec maximum;
  Vec total;
  Vec of_bias;  // the probability of the bias key
};

HEED_INLINE ConstantSums sums_of(const ConstantScores& scores) {
  ConstantSums sums;
  // A NaN is never greater; it reaches the total through its exponential.
  sums.maximum = max(scores.sink, max(scores.bias, max(scores.zero, broadcast(-kInfinity))));
  sums.of_bias = probability_of(scores.bias, sums.maximum);
  sums.total = probability_of(scores.sink, sums.maximum) + sums.of_bias + probability_of(scores.zero, sums.maximum);
  return sums;
}

// Sets the maximum and the total of all rows to those of these scores, and task.scores[lane] to the probability of the
// bias key with which its value is multiplied.
static void begin_with_constant_scores(const TileTask& task, const QueryTile& query_tile) {
  const AttentionProblem& problem = *task.problem;
  const bool has_bias = problem.bias_key.data != nullptr;
  float zero_scores[kQueryTileRows];
  if (has_bias) score_constant_key(task, query_tile, task.bias_key, query_tile.bias_scores);
  if (problem.has_zero_key != 0) score_constant_key(task, query_tile, nullptr, zero_scores);
  for (int64_t first_lane = 0; first_lane < kQueryTileRows; first_lane += kLanes) {
    ConstantScores scores;
    if (problem.sinks.data != nullptr) scores.sink = sinks_of_rows(task, query_tile, first_lane);
    if (has_bias) scores.bias = load(query_tile.bias_scores + first_lane);
    if (problem.has_zero_key != 0) scores.zero = load(zero_scores + first_lane);
    const ConstantSums sums = sums_of(scores);
    store(query_tile.maximum + first_lane, sums.maximum);
    store(query_tile.total + first_lane, sums.total);
    if (num_constant_keys(problem) > 0) store(query_tile.sees_any + first_lane, broadcast(int32_t{-1}));
    if (has_bias) store(task.scores + first_lane, sums.of_bias);
  }
  if (has_bias && task.arguments->drops != 0)
    drop<kTileVectors>(task, query_tile, task.sequence->key_count, task.sequence->key_count + 1);
}

// The sums that the bias key makes of the probabilities or weights in task.scores[lane].
static void begin_sums_with_bias_value(const TileTask& task, const QueryTile& query_tile,
                                       const IntVec (&rows)[kTileVectors]) {
  const bool has_bias = task.problem->bias_value.data != nullptr;
  for (int v = 0; v < kTileVectors; ++v) {
    const Vec probability = has_bias ? load(task.scores + v * kLanes) : Vec{};
    for (int64_t d = 0; d < task.problem->value_head_size; ++d) {
      float* address = query_tile.sums + d * kQueryTileRows + v * kLanes;
      const Vec sum = has_bias ? probability * broadcast(task.bias_value[d]) : Vec{};
      store(address, select(rows[v], sum, load(address)));
    }
  }
}

// Writes the weights of the constant keys to task.scores, [num_constant_keys][kQueryTileRows].
static void find_constant_weights(const TileTask& task, const QueryTile& query_tile) {
  const AttentionProblem& problem = *task.problem;
  for (int64_t first_lane = 0; first_lane < kQueryTileRows; first_lane += kLanes) {
    const Vec maximum = load(query_tile.maximum + first_lane);
    const Vec total = load(query_tile.total + first_lane);
    float* to = task.scores + first_lane;
    if (problem.bias_key.data != nullptr) {
      store(to, weight_of(load(query_tile.bias_scores + first_lane), maximum, total));
      to += kQueryTileRows;
    }
    if (problem.has_zero_key != 0) store(to, weight_of(Vec{}, maximum, total));
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
