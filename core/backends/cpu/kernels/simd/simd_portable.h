// SPDX-License-Identifier: Apache-2.0
// The shim if nothing is known of the processor but registers of 16 bytes: SSE2, which every x86-64 has, or what the
// compiler makes of the vector extensions. 4 lanes, 16 registers, no FMA.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

constexpr int kLanes = 4;
constexpr int kRegisters = 16;

using Vec = float __attribute__((vector_size(16)));
using IntVec = int32_t __attribute__((vector_size(16)));
using LongVec = uint64_t __attribute__((vector_size(16)));
using HalfVec = uint16_t __attribute__((vector_size(8)));

// `value` in all lanes: one instruction if it is in memory.
HEED_INLINE Vec broadcast(float value) { return Vec{value, value, value, value}; }

// a * b + c, rounded twice: SSE2 has no FMA.
HEED_INLINE Vec fma(Vec a, Vec b, Vec c) { return a * b + c; }

HEED_INLINE void accumulate(Vec& sum, Vec a, Vec b) { sum = fma(a, b, sum); }

// b if either is NaN.
HEED_INLINE Vec max(Vec a, Vec b) { return a > b ? a : b; }
HEED_INLINE Vec min(Vec a, Vec b) { return a < b ? a : b; }

// For abs(value) < 2^22: adding 1.5 * 2^23 leaves no bits for the fraction.
HEED_INLINE Vec floor(Vec value) {
  const Vec magic = Vec{} + 0x1.8p23f;
  const Vec nearest = (value + magic) - magic;
  return nearest - (nearest > value ? Vec{} + 1.0f : Vec{});
}

HEED_INLINE LongVec multiply_low_halves(LongVec a, LongVec b) {
#if defined(__SSE2__)
  return (LongVec)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return (a & UINT32_MAX) * (b & UINT32_MAX);
#endif
}

HEED_INLINE bool any(IntVec mask) {
  using Halves = int64_t __attribute__((vector_size(16)));
  const Halves halves = (Halves)mask;
  return (halves[0] | halves[1]) != 0;
}

HEED_INLINE IntVec load_halves(const uint16_t* from) {
  HalfVec halves;
  __builtin_memcpy(&halves, from, sizeof halves);
  return __builtin_convertvector(halves, IntVec);
}

HEED_INLINE Vec load_bf16(const uint16_t* from) { return (Vec)(load_halves(from) << 16); }

// With integer operations: a subnormal is its significand times 2^-24, infinities and NaN keep their bits.
HEED_INLINE Vec load_f16(const uint16_t* from) {
  const IntVec half = load_halves(from);
  const IntVec sign = (half & 0x8000) << 16;
  const IntVec magnitude = half & 0x7fff;
  const Vec subnormal = __builtin_convertvector(magnitude, Vec) * 0x1p-24f;
  const IntVec normal = (magnitude << 13) + ((127 - 15) << 23);
  const IntVec special = (magnitude << 13) | 0x7f800000;
  const IntVec bits = magnitude >= 0x7c00 ? special : (magnitude < 0x0400 ? (IntVec)subnormal : normal);
  return (Vec)(bits | sign);
}

// With integer operations, except for subnormals: adding 1/2 rounds them, since the last bit of 1/2 in f32 has the
// value of F16's smallest number.
HEED_INLINE HalfVec round_to_f16(Vec value) {
  const IntVec bits = (IntVec)value;
  const IntVec magnitude = bits & 0x7fffffff;
  const IntVec subnormal = (IntVec)((Vec)magnitude + 0.5f) - 0x3f000000;
  // Adds half a unit less one, and one more if the last bit is odd. A carry increments the exponent, in the end to
  // infinity.
  const IntVec normal = (magnitude - ((127 - 15) << 23) + 0x0fff + ((magnitude >> 13) & 1)) >> 13;
  const IntVec special = magnitude > 0x7f800000 ? IntVec{} + 0x7e00 : IntVec{} + 0x7c00;
  const IntVec half = magnitude < ((127 - 14) << 23) ? subnormal : (magnitude < ((127 + 16) << 23) ? normal : special);
  return __builtin_convertvector(half | ((bits >> 16) & 0x8000), HalfVec);
}

HEED_INLINE IntVec load_bytes(const uint8_t* from) {
  IntVec bytes;
  for (int lane = 0; lane < kLanes; ++lane) bytes[lane] = from[lane];
  return bytes;
}
// Each byte to the highest of four, then shifted down with its sign.
HEED_INLINE IntVec load_signed_bytes(const int8_t* from) {
  return (load_bytes(reinterpret_cast<const uint8_t*>(from)) << 24) >> 24;
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
