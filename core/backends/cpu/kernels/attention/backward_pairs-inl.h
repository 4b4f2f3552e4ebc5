// SPDX-License-Identifier: Apache-2.0
// What attention backward computes for single pairs of a query and a key, with keys as lanes: from the product of both and dP the
// weight A and dS, and the gradients of what is added to scores.
#pragma once

#include "backends/cpu/kernels/attention/backward_memory-inl.h"
#include "backends/cpu/kernels/attention/exponentials-inl.h"
#include "backends/cpu/kernels/attention/score_terms-inl.h"
#include "backends/cpu/kernels/simd/philox-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "backends/cpu/kernels/simd/tanh-inl.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

static void find_row(const BackwardState& state, int64_t g, int64_t query, BackwardRow& row) {
  const AttentionProblem& problem = state.problem;
  const AttentionBackwardProblem& backward = state.backward;
  const int64_t b = state.task.batch_index;
  const int64_t head = state.head_of_group(g);
  const auto index_in = [&](const Operand& operand) {
    return b * operand.strides[0] + head * operand.strides[1] + query * operand.strides[2];
  };
  row = {};
  row.problem = &problem;
  if (problem.mask.data != nullptr)
    row.pairs.mask = static_cast<const char*>(problem.mask.data) + index_in(problem.mask);
  if (problem.bias.data != nullptr) row.pairs.bias = element_address(problem.bias, index_in(problem.bias));
  if (backward.bias_gradient.data != nullptr)
    row.bias_gradient = static_cast<float*>(backward.bias_gradient.data) + index_in(backward.bias_gradient);
  row.has_alibi = problem.alibi_slopes.data != nullptr;
  if (row.has_alibi)
    row.slope = -static_cast<const float*>(problem.alibi_slopes.data)[head * problem.alibi_slopes.strides[1]];
  if (problem.relative_bias.data != nullptr) {
    row.relative_bias = relative_biases_of(problem, state.memory.relative_bias, g);
    if (backward.relative_bias_gradient.data != nullptr)
      row.relative_sums = state.memory.relative_sums + (row.relative_bias - state.memory.relative_bias);
  }
  row.sums_distances =
      (row.has_alibi && backward.alibi_slopes_gradient.data != nullptr) || row.relative_sums != nullptr;
  const CachedElement* given = given_positions(state.tile_task);
  row.has_window = given != nullptr && problem.cached.has_window != 0;
  row.has_distances = row.has_alibi || row.relative_bias != nullptr || row.has_window;
  if (!row.has_distances) return;
  if (given != nullptr) {
    row.positions = given->positions;
    row.position = given->query_positions[query];
  }
  row.first_distance = state.task.sequence->key_position - position_of(state.tile_task, query);
}

// The pairs of a row with the keys of a vector.
struct BackwardLanes {
  const BackwardRow& row;
  int64_t k;  // of the first lane
  int64_t count;
  IntVec distances = {};  // position of the key - position of the query, if the row has distances

  HEED_INLINE_MEMBER BackwardLanes(const BackwardRow& of_row, int64_t first, int64_t num_keys)
      : row(of_row), k(first), count(num_keys) {
    if (!row.has_distances) return;
    if (row.positions == nullptr) {
      distances = lane_numbers() + static_cast<int32_t>(row.first_distance + k);
      return;
    }
    distances = distances_of_keys(row.positions, k, count, row.position);
  }

  HEED_INLINE_MEMBER bool has_alibi() const { return row.has_alibi; }
  HEED_INLINE_MEMBER Vec with_alibi(Vec score) const {
    return add_alibi(score, broadcast(row.slope), __builtin_convertvector(distances, Vec));
  }

  HEED_INLINE_MEMBER bool has_relative_bias() const { return row.relative_bias != nullptr; }
  HEED_INLINE_MEMBER int64_t element(int lane) const { return distances[lane] + row.problem->max_distance; }
  HEED_INLINE_MEMBER Vec relative_bias() const {
    return relative_biases_of_keys(row.relative_bias, distances, row.positions == nullptr, row.problem->max_distance);
  }
  // Adds dZ to the gradient of the relative bias. It is 0 in lanes that are not seen.
  HEED_INLINE_MEMBER void add_relative(Vec gradient) const {
    const int64_t last = 2 * row.problem->max_distance;
    if (row.positions == nullptr) {
      float* to = row.relative_sums + (consecutive_biases(row.relative_bias, element(0), last) - row.relative_bias);
      return store(to, load(to) + gradient);
    }
    float of_lanes[kLanes];
    store(of_lanes, gradient);
    for (int lane = 0; lane < count; ++lane)
      row.relative_sums[smaller(larger(element(lane), 0), last)] += of_lanes[lane];
  }

  HEED_INLINE_MEMBER bool has_window() const { return row.has_window; }
  HEED_INLINE_MEMBER IntVec is_in_window() const { return is_in_window_of(row.problem->cached, distances); }

  HEED_INLINE_MEMBER bool has_pair_terms() const { return row.pairs.mask != nullptr || row.pairs.bias != nullptr; }
  HEED_INLINE_MEMBER Vec pair_terms() const { return load_pair_row(*row.problem, row.pairs, k, count); }
};

// Whether a query sees any key of its range.
static bool sees_any(const BackwardState& state, int64_t g, int64_t query, KeyRange range) {
  const AttentionProblem& problem = state.problem;
  if (range.first >= range.end) return false;
  if (problem.mask.data == nullptr && problem.bias.data == nullptr && problem.cached.has_window == 0) return true;
  BackwardRow row;
  find_row(state, g, query, row);
  for (int64_t k = range.first; k < range.end; k += kLanes) {
    IntVec sees = is_in(range, k);
    add_terms(BackwardLanes(row, k, smaller(kLanes, range.end - k)), Vec{}, sees);
    if (any(sees)) return true;
  }
  return false;
}

// gradient[k + lane] += value of each lane; those beyond `count` are 0.
static void add_to_bias_gradient(const Operand& operand, float* row, int64_t k, int64_t count, Vec value) {
  const int64_t stride = operand.strides[3];
  if (stride == 1) {
    float* to = row + k;
    if (count >= kLanes) return store(to, load(to) + value);
    return store_first(to, load_first(to, count) + value, count);
  }
  if (stride == 0) {
    *row += sum_of_lanes(value);
    return;
  }
  float of_lanes[kLanes];
  store(of_lanes, value);
  for (int64_t i = 0; i < smaller(count, kLanes); ++i) row[(k + i) * stride] += of_lanes[i];
}

// Adds dZ, which is 0 where a key is not seen, to the gradients of the terms of distances.
HEED_INLINE void add_distances(const BackwardLanes& lanes, Vec gradient, Vec& alibi_sum) {
  if (lanes.has_alibi()) alibi_sum -= gradient * magnitude(__builtin_convertvector(lanes.distances, Vec));
  if (lanes.row.relative_sums != nullptr) lanes.add_relative(gradient);
}

// The pairs of a row with the keys of a panel.
struct PanelRow {
  float* weights;       // A
  float* products;      // the products of query and keys in `weights`, dP here; then dS
  int32_t* seen;        // written if it is not null
  const int32_t* kept;  // null: nothing is dropped
  int64_t k;            // the first key
};

// The row averages all values.
static void average_pairs(const BackwardState& state, const PanelRow& panel) {
  const Vec weight = broadcast(1.0f / static_cast<float>(state.num_keys));
  for (int64_t v = 0; v < kPanelKeys; v += kLanes) {
    const IntVec takes_part = is_in({0, state.num_keys}, panel.k + v);
    const IntVec is_kept = panel.kept != nullptr ? takes_part & load(panel.kept + v) : takes_part;
    store(panel.weights + v, select(is_kept, weight, Vec{}));
    store(panel.products + v, Vec{});
    if (panel.seen != nullptr) store(panel.seen + v, takes_part & kAverages);
  }
}

static void hide_pairs(const PanelRow& panel) {
  for (int64_t v = 0; v < kPanelKeys; v += kLanes) {
    store(panel.weights + v, Vec{});
    store(panel.products + v, Vec{});
    if (panel.seen != nullptr) store(panel.seen + v, IntVec{});
  }
}

// The probabilities of two vectors of scores. Those of visible keys are at most 1, but for rounding.
HEED_INLINE void find_probabilities(Vec (&scores)[kTileVectors], Vec shift, Vec pivot) {
#pragma GCC unroll 4
  for (int v = 0; v < kTileVectors; ++v) scores[v] = min(Vec{}, fma(scores[v] - shift, broadcast(kLog2E), -pivot));
  exp2_without_tiny(scores);
}

// Row r of the task. Adds to `alibi_sum` what the pairs add to the gradient of the head's slope.
HEED_NOINLINE void finish_pairs(const BackwardState& state, const BackwardRow& row, int64_t r, const PanelRow& panel,
                                Vec& alibi_sum) {
  const AttentionProblem& problem = state.problem;
  const BackwardMemory& memory = state.memory;
  const float score_scale = state.arguments.forward.score_scale;
  const float soft_cap = problem.soft_cap;
  Vec scores[kTileVectors];
  Vec slopes[kTileVectors];  // the derivative of the soft cap
  IntVec sees[kTileVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kTileVectors; ++v) {
    scores[v] = load(panel.weights + v * kLanes);
    slopes[v] = broadcast(1.0f);
    sees[v] = is_in(memory.ranges[r], panel.k + v * kLanes);
  }
  if (score_scale != 1) {
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) scores[v] *= broadcast(score_scale);
  }
  if (soft_cap != 0) {
    const float inverse = 1.0f / soft_cap < __FLT_MAX__ ? 1.0f / soft_cap : __FLT_MAX__;
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      const Vec tangent = tanh(scores[v] * broadcast(inverse));
      slopes[v] = fma(-tangent, tangent, broadcast(1.0f));
      scores[v] = tangent * broadcast(soft_cap);
    }
  }
  for (int v = 0; v < kTileVectors; ++v) {
    const int64_t k = panel.k + v * kLanes;
    if (k < state.num_keys)
      scores[v] = add_terms(BackwardLanes(row, k, smaller(kLanes, state.num_keys - k)), scores[v], sees[v]);
  }
  find_probabilities(scores, broadcast(memory.shifts[r]), broadcast(memory.pivots[r]));
  const Vec delta = broadcast(memory.deltas[r]);
  const Vec kept_scale = broadcast(state.arguments.forward.dropout_scale);
  for (int v = 0; v < kTileVectors; ++v) {
    const Vec probability = select(sees[v], scores[v], Vec{});
    Vec weight = probability;
    Vec product = load(panel.products + v * kLanes);
    if (panel.kept != nullptr) {
      const IntVec is_kept = load(panel.kept + v * kLanes);
      // A dropped weight is 0, but that of a row that is NaN.
      weight = select(is_kept, weight, weight * Vec{});
      product = select(is_kept, product * kept_scale, Vec{});
    }
    const Vec gradient = select(sees[v], probability * (product - delta), Vec{});
    store(panel.weights + v * kLanes, weight);
    store(panel.products + v * kLanes, soft_cap != 0 ? select(sees[v], gradient * slopes[v], Vec{}) : gradient);
    if (panel.seen != nullptr) store(panel.seen + v * kLanes, sees[v]);
    const int64_t k = panel.k + v * kLanes;
    const int64_t count = smaller(kLanes, state.num_keys - k);
    if (count <= 0) continue;
    if (row.bias_gradient != nullptr)
      add_to_bias_gradient(state.backward.bias_gradient, row.bias_gradient, k, count, gradient);
    if (row.sums_distances) add_distances(BackwardLanes(row, k, count), gradient, alibi_sum);
  }
}

// Which weights of the queries first .. first + count - 1 of a head and the keys of a group, which begins with key k, are kept.
// A counter gives the words of four keys.
static void find_kept(const BackwardState& state, int64_t head, int64_t first, int64_t count, int64_t k,
                      int32_t* kept) {
  static_assert(kGroupKeys == 4 * kLanes);
  const uint32_t threshold = state.arguments.forward.dropout_threshold;
  for (int64_t i = 0; i < count; ++i) {
    IntVec words[4] = {lane_numbers() + static_cast<int32_t>(k / 4), broadcast(static_cast<int32_t>(first + i)),
                       broadcast(static_cast<int32_t>(head)), broadcast(static_cast<int32_t>(state.task.batch_index))};
    philox_rounds(words, state.problem.dropout_seed);
    // Word w of lane i is that of key 4 i + w.
    const Interleaved even = interleave(words[0], words[2]);
    const Interleaved odd = interleave(words[1], words[3]);
    const Interleaved low = interleave(even.low, odd.low);
    const Interleaved high = interleave(even.high, odd.high);
    const IntVec in_order[4] = {low.low, low.high, high.low, high.high};
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) store(kept + i * kGroupKeys + v * kLanes, is_kept(in_order[v], threshold));
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
