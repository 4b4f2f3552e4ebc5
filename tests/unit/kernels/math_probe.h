// SPDX-License-Identifier: Apache-2.0
// The functions of kernels/*-inl.h, which an ISA's object keeps to itself, on arrays of any length: whole vectors, and
// the rest by what reads and writes the first lanes alone.
#pragma once

#include <stdint.h>

#include "tensor/dtype.h"

namespace heed::cpu {

struct MathProbe {
  const char* isa;  // as HEED_ISA names it
  int32_t lanes;

  // `type` is F32, F16 or BF16.
  void (*load_elements)(const void* from, DType type, int64_t count, float* to);
  void (*store_elements)(const float* from, DType type, int64_t count, void* to);
  void (*store_element)(float value, DType type, void* to);
  // Elements of `to` are `stride` elements apart.
  void (*scatter_elements)(const float* from, DType type, int64_t stride, int64_t count, void* to);
  // Rows `stride` elements apart, whose elements are `element_stride` apart; those of `to` are whole vectors.
  void (*widen_rows)(const void* from, DType type, int64_t stride, int64_t element_stride, int64_t num_rows,
                     int64_t width, float* to);

  void (*tanh)(const float* from, int64_t count, float* to);
  void (*exp2_of_nonpositive)(const float* from, int64_t count, float* to);

  // words[i] has word i of `count` counters, which becomes word i of their random numbers; count is a multiple of
  // lanes.
  void (*philox)(int32_t* const (&words)[4], int64_t count, uint64_t seed);
  bool (*is_kept)(uint32_t word, uint32_t threshold);
};

#define HEED_MATH_PROBE(isa) const MathProbe& math_probe_##isa()

HEED_MATH_PROBE(portable);
#if defined(__x86_64__)
HEED_MATH_PROBE(avx2);
HEED_MATH_PROBE(avx512);
HEED_MATH_PROBE(avx512_bf16);
#elif defined(__aarch64__)
HEED_MATH_PROBE(neon);
#endif

}  // namespace heed::cpu
