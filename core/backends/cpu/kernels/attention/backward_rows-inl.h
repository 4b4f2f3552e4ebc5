// SPDX-License-Identifier: Apache-2.0
// The rows of a task of attention backward, before any key: copies of queries and output gradients, D, what each row takes part
// in, and the keys that all rows see, whose scores are independent of the others': the sink and the bias key.
#pragma once

#include "backends/cpu/kernels/attention/backward_memory-inl.h"
#include "backends/cpu/kernels/attention/backward_pairs-inl.h"
#include "backends/cpu/kernels/attention/constant_keys-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Row `row` of an operand with axes (b, h, row, .).
struct OperandRow {
  const char* data;
  DType dtype;
  int64_t stride;
  int64_t size;

  HEED_INLINE_MEMBER OperandRow(const Operand& operand, int64_t b, int64_t h, int64_t row, int64_t num_elements)
      : data(element_address(operand, b * operand.strides[0] + h * operand.strides[1] + row * operand.strides[2])),
        dtype(operand.dtype),
        stride(operand.strides[3]),
        size(num_elements) {}

  // The vector from element d on; lanes after the last element are 0.
  HEED_INLINE_MEMBER Vec vector(int64_t d) const {
    const int64_t count = smaller(kLanes, size - d);
    if (stride == 1 && count == kLanes && dtype == DType::F32) return load(reinterpret_cast<const float*>(data) + d);
    return gather_first_elements(data + d * stride * size_of_element(dtype), dtype, stride, count);
  }
};

HEED_INLINE bool is_finite_row(const float* row, int64_t width) {
  Vec zeros{};
  for (int64_t d = 0; d < width; d += kLanes) zeros = fma(load(row + d), Vec{}, zeros);
  return !any(zeros != zeros);
}

HEED_INLINE float product_of(const float* a, const float* b, int64_t width) {
  Vec sum{};
  for (int64_t d = 0; d < width; d += kLanes) sum = fma(load(a + d), load(b + d), sum);
  return sum_of_lanes(sum);
}

// to[d] += factor * row[d].
HEED_INLINE void add_row(float factor, const float* row, int64_t width, float* to) {
  for (int64_t d = 0; d < width; d += kLanes) store(to + d, fma(broadcast(factor), load(row + d), load(to + d)));
}

// Whether the weight of key k is kept.
static bool is_weight_kept(const BackwardState& state, int64_t head, int64_t query, int64_t k) {
  IntVec words[4] = {broadcast(static_cast<int32_t>(k / 4)), broadcast(static_cast<int32_t>(query)),
                     broadcast(static_cast<int32_t>(head)), broadcast(static_cast<int32_t>(state.task.batch_index))};
  philox_rounds(words, state.problem.dropout_seed);
  return is_kept(words[k % 4], state.arguments.forward.dropout_threshold)[0] != 0;
}

// The probability of a score in row r.
static float probability_in_row(const BackwardState& state, int64_t r, float score) {
  Vec scores[kTileVectors] = {broadcast(score)};
  find_probabilities(scores, broadcast(state.memory.shifts[r]), broadcast(state.memory.pivots[r]));
  return scores[0][0];
}

static float score_bias_key(const BackwardState& state, int64_t r) {
  const float* query = state.memory.queries + r * state.width;
  float score[kLanes] = {product_of(query, state.memory.bias_key, state.width) * state.key_scale};
  scale_and_cap<kLanes>(state.arguments.forward.score_scale, state.problem.soft_cap, 1, score);
  return score[0];
}

// What the bias key adds to the gradients. Its part of the query's gradient is left in bias_key_terms.
static void add_bias_key(const BackwardState& state, int64_t g, int64_t query, int64_t r) {
  const BackwardMemory& memory = state.memory;
  const AttentionProblem& problem = state.problem;
  const AttentionArguments& forward = state.arguments.forward;
  const float* query_row = memory.queries + r * state.width;
  const float* gradient_row = memory.output_gradients + r * state.value_width;
  const float score = score_bias_key(state, r);
  const float probability = probability_in_row(state, r, score);
  float product = product_of(gradient_row, memory.bias_value, state.value_width);
  float weight = probability;
  if (forward.drops != 0) {
    const bool keeps = is_weight_kept(state, state.head_of_group(g), query, state.num_keys);
    weight = keeps ? weight : weight * 0.0f;
    product = keeps ? product * forward.dropout_scale : 0.0f;
  }
  const float tangent = problem.soft_cap != 0 ? score / problem.soft_cap : 0.0f;
  const float gradient = probability * (product - memory.deltas[r]) * (1.0f - tangent * tangent);
  memory.bias_key_terms[r] = gradient;
  float* sums = state.task.sums;
  if (state.backward.bias_key_gradient.data != nullptr)
    add_row(gradient * problem.scale, query_row, state.width, sums + state.arguments.sums.bias_key);
  if (state.backward.bias_value_gradient.data != nullptr)
    add_row(weight * forward.dropout_scale, gradient_row, state.value_width, sums + state.arguments.sums.bias_value);
}

// The scores of row r with the keys of a vector, which begins with key k; -inf where it does not see the key.
static Vec scores_of_row(const BackwardState& state, const BackwardRow& row, int64_t g, int64_t r, int64_t k) {
  const AttentionProblem& problem = state.problem;
  const KeyRange range = state.memory.ranges[r];
  const int64_t count = smaller(kLanes, range.end - k);
  const float* query = state.memory.queries + r * state.width;
  const float* weights = state.memory.score_weights + g * state.width;
  float scores[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) {
    const OperandRow key(problem.keys, state.task.batch_index, state.task.kv_head,
                         state.task.sequence->key_begin + k + i, problem.head_size);
    Vec sum{};
    for (int64_t d = 0; d < state.width; d += kLanes) {
      const Vec of_key = key.vector(d);
      sum = state.is_additive ? fma(load(weights + d), tanh(load(query + d) + of_key), sum)
                              : fma(load(query + d), of_key * broadcast(state.key_scale), sum);
    }
    scores[i] = sum_of_lanes(sum);
  }
  scale_and_cap<kLanes>(state.arguments.forward.score_scale, problem.soft_cap, 1, scores);
  IntVec sees = is_in(range, k);
  const Vec finished = add_terms(BackwardLanes(row, k, count), load(scores), sees);
  return select(sees, finished, broadcast(-kInfinity));
}

// A log_sum_exp far beyond 2^20, as of rows that a bias of -1e10 or of the lowest float hides, has no digits left for the
// logarithm of the sum. Then maximum and sum are computed again: the shift is the maximum, the pivot the logarithm.
static void normalize_row(const BackwardState& state, int64_t g, int64_t query, int64_t r) {
  const AttentionProblem& problem = state.problem;
  const KeyRange range = state.memory.ranges[r];
  BackwardRow row;
  find_row(state, g, query, row);
  const float none = -kInfinity;
  const float constant[] = {problem.sinks.data != nullptr ? sink_of(problem, state.head_of_group(g)) : none,
                            problem.bias_key.data != nullptr ? score_bias_key(state, r) : none,
                            problem.has_zero_key != 0 ? 0.0f : none};
  float maximum = none;
  for (const float score : constant) maximum = score > maximum ? score : maximum;
  for (int64_t k = range.first; k < range.end; k += kLanes) {
    const float largest = maximum_of_lanes(scores_of_row(state, row, g, r, k));
    maximum = largest > maximum ? largest : maximum;
  }
  Vec sum{};
  const auto add = [&](Vec scores) {
    Vec exponents[1] = {(scores - broadcast(maximum)) * broadcast(kLog2E)};
    exp2_of_nonpositive(exponents);
    sum += exponents[0];
  };
  for (int64_t k = range.first; k < range.end; k += kLanes) add(scores_of_row(state, row, g, r, k));
  float total = sum_of_lanes(sum);
  for (const float score : constant) {
    sum = Vec{};
    add(broadcast(score));
    total += sum[0];
  }
  state.memory.shifts[r] = maximum;
  state.memory.pivots[r] = static_cast<float>(log(static_cast<double>(total))) * kLog2E;
}

// Extends a range of keys by another.
HEED_INLINE void include(KeyRange range, KeyRange& all) {
  if (range.first >= range.end) return;
  const bool is_first = all.first == all.end;
  all = {is_first ? range.first : smaller(all.first, range.first), is_first ? range.end : larger(all.end, range.end)};
}

static void prepare_row(const BackwardState& state, int64_t g, int64_t query) {
  const AttentionProblem& problem = state.problem;
  const BackwardMemory& memory = state.memory;
  const Sequence& sequence = *state.task.sequence;
  const int64_t b = state.task.batch_index;
  const int64_t head = state.head_of_group(g);
  const int64_t r = g * state.num_queries + query;
  const int64_t stored = sequence.query_begin + query;
  float* gradients = memory.output_gradients + r * state.value_width;
  float* queries = memory.queries + r * state.width;
  memory.kinds[r] = RowKind::Nothing;
  memory.not_finite[r] = 0;
  memory.ranges[r] = {};
  memory.pivots[r] = memory.shifts[r] = memory.deltas[r] = 0.0f;
  if (problem.bias_key.data != nullptr) memory.bias_key_terms[r] = 0.0f;
  const OperandRow gradient_row(state.backward.output_gradient, b, head, stored, problem.value_head_size);
  IntVec is_other{};
  Vec zeros{};  // NaN where an element is not finite
  for (int64_t d = 0; d < state.value_width; d += kLanes) {
    const Vec gradient = gradient_row.vector(d);
    is_other |= gradient != Vec{};
    zeros = fma(gradient, Vec{}, zeros);
    store(gradients + d, gradient);
  }
  const KeyRange range = state.task.key_ranges[query];
  const bool adds_nothing = !any(is_other);
  const bool is_empty = adds_nothing || (num_constant_keys(problem) == 0 && !sees_any(state, g, query, range));
  if (is_empty) {
    for (int64_t d = 0; d < state.width; d += kLanes) store(queries + d, Vec{});
    if (!adds_nothing && state.arguments.forward.mean_empty_rows != 0) {
      memory.kinds[r] = RowKind::Mean;
      include({0, state.num_keys}, *memory.wanted);
      memory.not_finite[r] = any(zeros != zeros) ? 1 : 0;
    } else {
      for (int64_t d = 0; d < state.value_width; d += kLanes) store(gradients + d, Vec{});
    }
    return;
  }
  const OperandRow query_row(problem.queries, b, head, stored, problem.head_size);
  for (int64_t d = 0; d < state.width; d += kLanes) {
    const Vec of_query = query_row.vector(d);
    zeros = fma(of_query, Vec{}, zeros);
    store(queries + d, of_query);
  }
  memory.not_finite[r] = any(zeros != zeros) ? 1 : 0;
  const OperandRow output_row(problem.output, b, head, stored, problem.value_head_size);
  Vec product{};
  for (int64_t d = 0; d < state.value_width; d += kLanes)
    product = fma(load(gradients + d), output_row.vector(d), product);
  memory.deltas[r] = sum_of_lanes(product);
  const Operand& lse = problem.log_sum_exp;
  const float log_sum_exp =
      static_cast<const float*>(lse.data)[b * lse.strides[0] + head * lse.strides[1] + stored * lse.strides[2]];
  const bool is_shifted = is_large(broadcast(log_sum_exp))[0] != 0;
  memory.kinds[r] = is_shifted ? RowKind::Shifted : RowKind::Plain;
  memory.pivots[r] = log_sum_exp * kLog2E;
  memory.ranges[r] = range;
  if (is_shifted) normalize_row(state, g, query, r);
  include(range, *memory.visible);
  if (state.task.chunk != 0) return;
  if (state.backward.sinks_gradient.data != nullptr) {
    const float of_sink = probability_in_row(state, r, sink_of(problem, head)) * memory.deltas[r];
    state.task.sums[state.arguments.sums.sinks + g] -= of_sink;
  }
  if (problem.bias_key.data != nullptr) add_bias_key(state, g, query, r);
}

static void prepare_rows(const BackwardState& state) {
  *state.memory.visible = *state.memory.wanted = {};
  for (int64_t g = 0; g < state.group; ++g) {
    for (int64_t query = 0; query < state.num_queries; ++query) prepare_row(state, g, query);
  }
  include(*state.memory.visible, *state.memory.wanted);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
