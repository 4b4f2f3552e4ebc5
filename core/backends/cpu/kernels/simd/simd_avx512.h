// SPDX-License-Identifier: Apache-2.0
// The shim on AVX-512 (F, BW, DQ, VL): 16 lanes, 32 registers.
#pragma once

#include <immintrin.h>

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

constexpr int kLanes = 16;
constexpr int kRegisters = 32;

using Vec = float __attribute__((vector_size(64)));
using IntVec = int32_t __attribute__((vector_size(64)));
using LongVec = uint64_t __attribute__((vector_size(64)));
using HalfVec = uint16_t __attribute__((vector_size(32)));  // elements of F16 or BF16 as stored

// `value` in all lanes: one instruction if it is in memory.
HEED_INLINE Vec broadcast(float value) { return (Vec)_mm512_set1_ps(value); }

// a * b + c, rounded once.
HEED_INLINE Vec fma(Vec a, Vec b, Vec c) { return (Vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }

HEED_INLINE void accumulate(Vec& sum, Vec a, Vec b) { asm("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b)); }

// b if either is NaN.
HEED_INLINE Vec max(Vec a, Vec b) { return (Vec)_mm512_max_ps((__m512)a, (__m512)b); }
HEED_INLINE Vec min(Vec a, Vec b) { return (Vec)_mm512_min_ps((__m512)a, (__m512)b); }

// value - floor(value); 0 for infinities.
HEED_INLINE Vec fraction(Vec value) {
  return (Vec)_mm512_reduce_ps((__m512)value, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

// value * 2^floor(exponent), rounded once if the result is subnormal; 2^-inf is 0.
HEED_INLINE Vec scale_by_power_of_2(Vec value, Vec exponent) {
  return (Vec)_mm512_scalef_ps((__m512)value, (__m512)exponent);
}

// The products of the low halves of 64-bit lanes.
HEED_INLINE LongVec multiply_low_halves(LongVec a, LongVec b) {
  return (LongVec)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

// Whether any lane of a mask is set.
HEED_INLINE bool any(IntVec mask) { return _mm512_movepi32_mask((__m512i)mask) != 0; }

// Load or store the first `count` lanes, fewer than kLanes. Other lanes are loaded as 0, and their memory is not
// accessed. Assembling a vector in memory would be slower: it can only be loaded after all of its parts have left the
// store buffer.
#define HEED_SIMD_LOADS_SOME
HEED_INLINE Vec load_some(const float* from, int64_t count) {
  return (Vec)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
}
#define HEED_SIMD_STORES_SOME
HEED_INLINE void store_some(float* to, Vec value, int64_t count) {
  _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)value);
}

// Widens kLanes elements of F16 or BF16.
HEED_INLINE Vec load_f16(const uint16_t* from) {
  return (Vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)from));
}
HEED_INLINE Vec load_bf16(const uint16_t* from) {
  return (Vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)from)), 16);
}

// Rounds to F16, to nearest even; subnormals are kept.
HEED_INLINE HalfVec round_to_f16(Vec value) {
  return (HalfVec)_mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// Widens one byte for each lane.
HEED_INLINE IntVec load_bytes(const uint8_t* from) {
  return (IntVec)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)from));
}
HEED_INLINE IntVec load_signed_bytes(const int8_t* from) {
  return (IntVec)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)from));
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
