// SPDX-License-Identifier: Apache-2.0
// The shim on AVX2 with FMA and F16C: 8 lanes, 16 registers.
#pragma once

#include <immintrin.h>

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

constexpr int kLanes = 8;
constexpr int kRegisters = 16;

using Vec = float __attribute__((vector_size(32)));
using IntVec = int32_t __attribute__((vector_size(32)));
using LongVec = uint64_t __attribute__((vector_size(32)));
using HalfVec = uint16_t __attribute__((vector_size(16)));

// `value` in all lanes: one instruction if it is in memory.
HEED_INLINE Vec broadcast(float value) { return (Vec)_mm256_set1_ps(value); }

HEED_INLINE Vec fma(Vec a, Vec b, Vec c) { return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }

// sum = a * b + sum in the register of `sum`: otherwise GCC 12 moves sums between registers, and spills some.
HEED_INLINE void accumulate(Vec& sum, Vec a, Vec b) { asm("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b)); }

// b if either is NaN.
HEED_INLINE Vec max(Vec a, Vec b) { return (Vec)_mm256_max_ps((__m256)a, (__m256)b); }
HEED_INLINE Vec min(Vec a, Vec b) { return (Vec)_mm256_min_ps((__m256)a, (__m256)b); }

HEED_INLINE Vec floor(Vec value) {
  return (Vec)_mm256_round_ps((__m256)value, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

HEED_INLINE LongVec multiply_low_halves(LongVec a, LongVec b) {
  return (LongVec)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}

HEED_INLINE bool any(IntVec mask) { return _mm256_movemask_ps((__m256)mask) != 0; }

// Only loads: on many processors a masked store takes longer than storing a vector in parts.
#define HEED_SIMD_LOADS_SOME
HEED_INLINE Vec load_some(const float* from, int64_t count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return (Vec)_mm256_maskload_ps(from, _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)count), lanes));
}

HEED_INLINE Vec load_f16(const uint16_t* from) { return (Vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)from)); }
HEED_INLINE Vec load_bf16(const uint16_t* from) {
  return (Vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)from)), 16);
}

HEED_INLINE HalfVec round_to_f16(Vec value) {
  return (HalfVec)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

HEED_INLINE IntVec load_bytes(const uint8_t* from) {
  return (IntVec)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)from));
}
HEED_INLINE IntVec load_signed_bytes(const int8_t* from) {
  return (IntVec)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)from));
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
