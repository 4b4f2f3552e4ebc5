// SPDX-License-Identifier: Apache-2.0
// Additive scores in attention backward: the score of a pair is the sum over d of w_d * tanh(q_d + k_d), with keys as lanes. A row
// and a panel are computed twice: once for the scores, and, once dS is known, for the gradients. The tangents stay in the cache
// in between.
#pragma once

#include "backends/cpu/kernels/attention/backward_memory-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "backends/cpu/kernels/simd/tanh-inl.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Loads the score weights of the task's heads, and begins the sums of their gradient.
static void begin_score_weights(const BackwardState& state) {
  const Operand& weights = state.problem.score_weights;
  for (int64_t g = 0; g < state.group; ++g) {
    widen_row(element_address(weights, state.head_of_group(g) * weights.strides[1]), weights.dtype, weights.strides[3],
              state.problem.head_size, state.memory.score_weights + g * state.width);
  }
  for (int64_t i = 0; i < state.group * state.problem.head_size; ++i)
    store(state.memory.score_weights_sums + i * kLanes, Vec{});
}

// The scores of a query with the keys of a panel, without the scale. Leaves the tangents in the memory.
HEED_NOINLINE void add_scores(const float* query, const float* weights, const float* keys, int64_t head_size,
                              float* tangents, float* scores) {
  Vec sums[kTileVectors] = {};
  for (int64_t d = 0; d < head_size; ++d) {
    const Vec of_query = broadcast(query[d]);
    const Vec weight = broadcast(weights[d]);
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      const Vec tangent = tanh(of_query + load(keys + d * kPanelKeys + v * kLanes));
      store(tangents + d * kPanelKeys + v * kLanes, tangent);
      sums[v] = fma(weight, tangent, sums[v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kTileVectors; ++v) store(scores + v * kLanes, sums[v]);
}

// Where the gradients of a row and a panel are added.
struct AdditiveSums {
  float* query;          // [width]; null: not wanted
  float* keys;           // [head_size][kPanelKeys]; null: not wanted
  float* score_weights;  // [head_size][kLanes]
};

// Adds the gradients of the pairs that are seen.
HEED_NOINLINE void add_additive_gradients(const float* tangents, const float* weights, const float* gradients,
                                          const int32_t* seen, int64_t head_size, const AdditiveSums& sums) {
  Vec of_pairs[kTileVectors];
  IntVec sees[kTileVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kTileVectors; ++v) {
    of_pairs[v] = load(gradients + v * kLanes);
    sees[v] = load(seen + v * kLanes) == kSees;
  }
  for (int64_t first = 0; first < head_size; first += kLanes) {
    Vec of_query[kLanes] = {};
    const int64_t count = smaller(kLanes, head_size - first);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t d = first + i;
      const Vec weight = broadcast(weights[d]);
      Vec of_weight = load(sums.score_weights + d * kLanes);
      Vec sum{};
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) {
        const Vec tangent = load(tangents + d * kPanelKeys + v * kLanes);
        of_weight += select(sees[v], of_pairs[v] * tangent, Vec{});
        const Vec slope = fma(-tangent, tangent, broadcast(1.0f));
        const Vec gradient = select(sees[v], of_pairs[v] * slope * weight, Vec{});
        sum += gradient;
        if (sums.keys != nullptr) {
          float* to = sums.keys + d * kPanelKeys + v * kLanes;
          store(to, load(to) + gradient);
        }
      }
      store(sums.score_weights + d * kLanes, of_weight);
      of_query[i] = sum;
    }
    if (sums.query == nullptr) continue;
    // The sums of all lanes, kLanes elements at a time.
    transpose(of_query);
    Vec total = load(sums.query + first);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) total += of_query[i];
    store(sums.query + first, total);
  }
}

static void finish_score_weights(const BackwardState& state) {
  if (state.backward.score_weights_gradient.data == nullptr) return;
  float* to = state.task.sums + state.arguments.sums.score_weights;
  for (int64_t i = 0; i < state.group * state.problem.head_size; ++i)
    to[i] = sum_of_lanes(load(state.memory.score_weights_sums + i * kLanes)) * state.problem.scale;
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
