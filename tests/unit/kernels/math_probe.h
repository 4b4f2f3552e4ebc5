// SPDX-License-Identifier: Apache-2.0
// The functions of kernels/*-inl.h, which no ISA's object exports, applied to arrays of any length: whole vectors
// first, then the rest by the functions for the first lanes only.
#pragma once

#include <stdint.h>

#include "ops/activation.h"
#include "ops/attention.h"
#include "tensor/dtype.h"

namespace heed::cpu {

struct MathProbe {
  const char* isa;  // as in HEED_ISA
  int32_t lanes;

  // `type` is F32, F16 or BF16.
  void (*load_elements)(const void* from, DType type, int64_t count, float* to);
  void (*store_elements)(const float* from, DType type, int64_t count, void* to);
  void (*store_element)(float value, DType type, void* to);
  // Elements of `to` are `stride` elements apart.
  void (*scatter_elements)(const float* from, DType type, int64_t stride, int64_t count, void* to);
  // Rows of `from` are `stride` elements apart, and their elements `element_stride`. Rows of `to` are padded to whole
  // vectors.
  void (*widen_rows)(const void* from, DType type, int64_t stride, int64_t element_stride, int64_t num_rows,
                     int64_t width, float* to);

  void (*tanh)(const float* from, int64_t count, float* to);
  void (*exp2_of_nonpositive)(const float* from, int64_t count, float* to);
  void (*exp2_without_tiny)(const float* from, int64_t count, float* to);

  // In place; `values` has room for whole vectors.
  void (*activate_row)(Activation activation, float* values, int64_t count);

  // words[i] contains word i of `count` counters, and is replaced by word i of their random numbers. count is a
  // multiple of lanes.
  void (*philox)(int32_t* const (&words)[4], int64_t count, uint64_t seed);
  bool (*is_kept)(uint32_t word, uint32_t threshold);

  // Of attention. A result is `width` sums, whole vectors, then the numbers of kernels/attention/row_results-inl.h.
  int64_t (*result_floats)(int64_t value_head_size);
  void (*merge_results)(float* const* results, int64_t count, int64_t width);
  void (*merge_later_result)(float* earlier, float* later, int64_t width);
  // Whether one of `count` vectors, `step` floats apart, is not finite.
  bool (*any_not_finite)(const float* sums, int64_t count, int64_t step);
  // The biases of a vector of lanes, queries or keys, of which the first reads this element.
  void (*relative_biases)(const AttentionProblem& problem, int64_t head, bool lanes_are_keys, int64_t element,
                          float* to);
};

#define HEED_MATH_PROBE(isa) const MathProbe& math_probe_##isa()

HEED_MATH_PROBE(portable);
#if defined(__x86_64__)
HEED_MATH_PROBE(avx2);
HEED_MATH_PROBE(avx512);
#elif defined(__aarch64__)
HEED_MATH_PROBE(neon);
#endif

}  // namespace heed::cpu
