// SPDX-License-Identifier: Apache-2.0
// Compiled once per ISA, with the compiler flags of that ISA's kernels.
#include "math_probe.h"

// Only some of the functions are called here.
#pragma GCC diagnostic ignored "-Wunused-function"

#include "backends/cpu/kernels/attention/repaired_sums-inl.h"
#include "backends/cpu/kernels/attention/row_results-inl.h"
#include "backends/cpu/kernels/attention/score_terms-inl.h"
#include "backends/cpu/kernels/rows/activation-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/exp2-inl.h"
#include "backends/cpu/kernels/simd/philox-inl.h"
#include "backends/cpu/kernels/simd/tanh-inl.h"

namespace heed::cpu {
namespace HEED_ISA_NAMESPACE {
namespace {

void load_array(const void* from, DType type, int64_t count, float* to) {
  const auto* next = static_cast<const char*>(from);
  for (int64_t i = 0; i < count; i += kLanes, next += kLanes * size_of_element(type)) {
    if (i + kLanes <= count)
      store(to + i, load_elements(next, type));
    else
      store_first(to + i, load_first_elements(next, type, count - i), count - i);
  }
}

void store_array(const float* from, DType type, int64_t count, void* to) {
  auto* next = static_cast<char*>(to);
  for (int64_t i = 0; i < count; i += kLanes, next += kLanes * size_of_element(type)) {
    if (i + kLanes <= count)
      store_elements(next, type, load(from + i));
    else
      store_first_elements(next, type, load_first(from + i, count - i), count - i);
  }
}

void store_one(float value, DType type, void* to) {
  store_first_elements(static_cast<char*>(to), type, broadcast(value), 1);
}

void scatter_array(const float* from, DType type, int64_t stride, int64_t count, void* to) {
  narrow_row(from, count, static_cast<char*>(to), type, stride);
}

void widen_array(const void* from, DType type, int64_t stride, int64_t element_stride, int64_t num_rows, int64_t width,
                 float* to) {
  widen_rows(static_cast<const char*>(from), type, stride, element_stride, num_rows, width, to);
}

template <typename Function>
HEED_INLINE void map_array(const float* from, int64_t count, float* to, Function function) {
  for (int64_t i = 0; i < count; i += kLanes) store_first(to + i, function(load_first(from + i, count - i)), count - i);
}

void tanh_array(const float* from, int64_t count, float* to) {
  map_array(from, count, to, [](Vec x) { return tanh(x); });
}

void exp2_array(const float* from, int64_t count, float* to) {
  map_array(from, count, to, [](Vec x) {
    Vec values[1] = {x};
    exp2_of_nonpositive(values);
    return values[0];
  });
}

void exp2_without_tiny_array(const float* from, int64_t count, float* to) {
  map_array(from, count, to, [](Vec x) {
    Vec values[1] = {x};
    exp2_without_tiny(values);
    return values[0];
  });
}

void philox_array(int32_t* const (&words)[4], int64_t count, uint64_t seed) {
  for (int64_t i = 0; i < count; i += kLanes) {
    IntVec vectors[4];
    for (int word = 0; word < 4; ++word) vectors[word] = load(words[word] + i);
    philox_rounds(vectors, seed);
    for (int word = 0; word < 4; ++word) store(words[word] + i, vectors[word]);
  }
}

bool is_word_kept(uint32_t word, uint32_t threshold) {
  return is_kept(broadcast(static_cast<int32_t>(word)), threshold)[kLanes - 1] != 0;
}

int64_t floats_of_result(int64_t value_head_size) {
  AttentionProblem problem;
  problem.value_head_size = value_head_size;
  return row_result_floats(problem);
}

void merge_parts(float* const* results, int64_t count, int64_t width) {
  const auto part = [&](int64_t n) { return results[n]; };
  merge_results(count, part, width, maximum_of_results(count, part, width, -kInfinity), Vec{});
}

bool has_nonfinite(const float* sums, int64_t count, int64_t step) {
  return any(is_nan(zero_times(sums, count, step)));
}

void load_relative_biases(const AttentionProblem& problem, int64_t head, bool lanes_are_keys, int64_t element,
                          float* to) {
  const int64_t group = problem.num_heads / problem.num_kv_heads;
  float expanded[1024];
  if (lanes_are_keys)
    expand_relative_bias<LanesAre::Keys>(problem, head / group, expanded);
  else
    expand_relative_bias<LanesAre::Queries>(problem, head / group, expanded);
  const float* biases = relative_biases_of(problem, expanded, head % group);
  store(to, load(consecutive_biases(biases, element, 2 * problem.max_distance)));
}

constexpr MathProbe kProbe = {
    .isa = HEED_ISA_TEXT,
    .lanes = kLanes,
    .load_elements = load_array,
    .store_elements = store_array,
    .store_element = store_one,
    .scatter_elements = scatter_array,
    .widen_rows = widen_array,
    .tanh = tanh_array,
    .exp2_of_nonpositive = exp2_array,
    .exp2_without_tiny = exp2_without_tiny_array,
    .activate_row = activate_row,
    .philox = philox_array,
    .is_kept = is_word_kept,
    .result_floats = floats_of_result,
    .merge_results = merge_parts,
    .merge_later_result = merge_later_result,
    .any_not_finite = has_nonfinite,
    .relative_biases = load_relative_biases,
};

}  // namespace
}  // namespace HEED_ISA_NAMESPACE

#define HEED_NAMED_PROBE(isa) HEED_MATH_PROBE(isa)
HEED_NAMED_PROBE(HEED_ISA_NAMESPACE) { return HEED_ISA_NAMESPACE::kProbe; }

}  // namespace heed::cpu
