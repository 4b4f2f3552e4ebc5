// SPDX-License-Identifier: Apache-2.0
// The SIMD shim: vectors of f32 and of int32 as wide as the ISA's registers, and the few operations on them that the
// kernels need. Kernels are written once, with these operations. A file per ISA implements what the vector extensions
// of GCC and clang cannot express.
//
// Operators + - * / and comparisons work on each lane of a vector; a comparison returns an IntVec of 0 and -1. Vectors
// wider than the ISA's registers would be emulated slowly, so kLanes depends on the ISA.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifndef HEED_ISA_NAMESPACE
#error "include this from a kernel object, which names its ISA"
#endif

// Everything below is local to one object file: two of them, compiled for different ISAs, must not share a symbol.
#define HEED_INLINE static inline __attribute__((always_inline))
#define HEED_INLINE_MEMBER __attribute__((always_inline))
// For a loop that needs all registers, and so is not inlined into its caller.
#define HEED_NOINLINE static __attribute__((noinline))

#if defined(HEED_SIMD_AVX512)
#include "backends/cpu/kernels/simd/simd_avx512.h"
#elif defined(HEED_SIMD_AVX2)
#include "backends/cpu/kernels/simd/simd_avx2.h"
#elif defined(HEED_SIMD_NEON)
#include "backends/cpu/kernels/simd/simd_neon.h"
#else
#include "backends/cpu/kernels/simd/simd_portable.h"
#endif

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// ---- whole numbers: the standard library's functions are inline ones, which objects could share ---------------------

HEED_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
HEED_INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
HEED_INLINE int64_t divide_up(int64_t value, int64_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}
HEED_INLINE int64_t round_up(int64_t value, int64_t multiple) { return divide_up(value, multiple) * multiple; }
// Floats of a row of whole vectors.
HEED_INLINE int64_t row_stride(int64_t size) { return round_up(size, kLanes); }

// ---- what the vector extensions do on every ISA ---------------------------------------------------------------------

HEED_INLINE Vec load(const float* from) {
  Vec value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

HEED_INLINE void store(float* to, Vec value) { __builtin_memcpy(to, &value, sizeof value); }

HEED_INLINE IntVec load(const int32_t* from) {
  IntVec value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

HEED_INLINE void store(int32_t* to, IntVec value) { __builtin_memcpy(to, &value, sizeof value); }

HEED_INLINE IntVec broadcast(int32_t value) { return IntVec{} + value; }

// For each lane `mask ? a : b`; a mask is the result of a comparison.
HEED_INLINE Vec select(IntVec mask, Vec a, Vec b) { return mask ? a : b; }

HEED_INLINE IntVec bits_of(Vec value) { return reinterpret_cast<IntVec>(value); }
HEED_INLINE Vec from_bits(IntVec value) { return reinterpret_cast<Vec>(value); }
HEED_INLINE Vec magnitude(Vec x) { return from_bits(bits_of(x) & INT32_MAX); }

// 0, 1, 2, ...
HEED_INLINE IntVec lane_numbers() {
  IntVec numbers;
  for (int lane = 0; lane < kLanes; ++lane) numbers[lane] = lane;
  return numbers;
}

// Loads the first `count` lanes, fewer than kLanes, if the ISA has no better way.
#ifndef HEED_SIMD_LOADS_SOME
HEED_INLINE Vec load_some(const float* from, int64_t count) {
  Vec value{};
  __builtin_memcpy(&value, from, static_cast<size_t>(count) * sizeof(float));
  return value;
}
#endif
#ifndef HEED_SIMD_STORES_SOME
HEED_INLINE void store_some(float* to, Vec value, int64_t count) {
  __builtin_memcpy(to, &value, static_cast<size_t>(count) * sizeof(float));
}
#endif

// Loads the first `count` lanes, 0 <= count <= kLanes; the others are 0. Reads nothing beyond.
HEED_INLINE Vec load_first(const float* from, int64_t count) {
  return count >= kLanes ? load(from) : load_some(from, count);
}

HEED_INLINE void store_first(float* to, Vec value, int64_t count) {
  if (count >= kLanes) return store(to, value);
  store_some(to, value, count);
}

// Sum and maximum of the lanes, in a fixed order: the upper half is folded into the lower half until one lane remains.
HEED_INLINE float sum_of_lanes(Vec value) {
  float lanes[kLanes];
  store(lanes, value);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

HEED_INLINE float maximum_of_lanes(Vec value) {
  float lanes[kLanes];
  store(lanes, value);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      if (lanes[lane + half] > lanes[lane]) lanes[lane] = lanes[lane + half];
    }
  }
  return lanes[0];
}

// The lane numbers 0, 1, 2, ... as a parameter pack, because the indices of __builtin_shufflevector must be constants.
template <int... lane>
struct Lanes {};

template <int lanes>
HEED_INLINE auto numbers_of_lanes() {
  if constexpr (lanes == 16) {
    return Lanes<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>{};
  } else if constexpr (lanes == 8) {
    return Lanes<0, 1, 2, 3, 4, 5, 6, 7>{};
  } else {
    static_assert(lanes == 4);
    return Lanes<0, 1, 2, 3>{};
  }
}
using AllLanes = decltype(numbers_of_lanes<kLanes>());

// The lanes of two vectors alternating: a0, b0, a1, b1, ...
struct Interleaved {
  IntVec low;
  IntVec high;
};

template <int... lane>
HEED_INLINE Interleaved interleave(IntVec a, IntVec b, Lanes<lane...>) {
  return {__builtin_shufflevector(a, b, (lane % 2 * kLanes + lane / 2)...),
          __builtin_shufflevector(a, b, (lane % 2 * kLanes + (kLanes + lane) / 2)...)};
}
HEED_INLINE Interleaved interleave(IntVec a, IntVec b) { return interleave(a, b, AllLanes{}); }

template <int... lane>
HEED_INLINE void separate(IntVec& a, IntVec& b, Lanes<lane...>) {
  const IntVec even = __builtin_shufflevector(a, b, (2 * lane)...);
  b = __builtin_shufflevector(a, b, (2 * lane + 1)...);
  a = even;
}
// The inverse of interleave: the even lanes of a and b go to a, the odd ones to b.
HEED_INLINE void separate(IntVec& a, IntVec& b) { separate(a, b, AllLanes{}); }

// One step of a transpose: exchanges each lane of a that has bit `step` in its number with lane `lane ^ step` of b.
template <int step, int... lane>
HEED_INLINE void exchange(Vec& a, Vec& b, Lanes<lane...>) {
  const Vec first = __builtin_shufflevector(a, b, ((lane & step) != 0 ? kLanes + lane - step : lane)...);
  b = __builtin_shufflevector(a, b, ((lane & step) != 0 ? kLanes + lane : lane + step)...);
  a = first;
}

template <int step, int count>
HEED_INLINE void exchange_all(Vec (&rows)[count]) {
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i) {
    if ((i & step) == 0) exchange<step>(rows[i], rows[i + step], AllLanes{});
  }
}

// Transposes in place: rows[i][j] <-> rows[j][i].
HEED_INLINE void transpose(Vec (&rows)[kLanes]) {
  exchange_all<1>(rows);
  exchange_all<2>(rows);
  if constexpr (kLanes > 4) exchange_all<4>(rows);
  if constexpr (kLanes > 8) exchange_all<8>(rows);
}

// With four rows transposing takes about a third of the steps that 16 rows take.
constexpr int kFewRows = 4;

template <int first, int... lane>
HEED_INLINE Vec repeat_four_lanes(Vec value, Lanes<lane...>) {
  return __builtin_shufflevector(value, value, (first + lane % 4)...);
}
// Lanes first .. first + 3, repeated.
template <int first>
HEED_INLINE Vec repeat_four_lanes(Vec value) {
  return repeat_four_lanes<first>(value, AllLanes{});
}

template <int count, int... lane>
HEED_INLINE Vec join_lanes(Vec a, Vec b, Lanes<lane...>) {
  return __builtin_shufflevector(a, b, (lane < count ? lane : kLanes + lane % count)...);
}
// The first `count` lanes of a, then the first `count` lanes of b, repeated.
template <int count>
HEED_INLINE Vec join_lanes(Vec a, Vec b) {
  return join_lanes<count>(a, b, AllLanes{});
}

// columns[i][j] = rows[j % 4][i].
HEED_INLINE void transpose_to_columns(Vec (&rows)[kFewRows], Vec (&columns)[kLanes]) {
  exchange_all<1>(rows);
  exchange_all<2>(rows);
#pragma GCC unroll 4
  for (int i = 0; i < kFewRows; ++i) {
    columns[i] = repeat_four_lanes<0>(rows[i]);
    if constexpr (kLanes > 4) columns[4 + i] = repeat_four_lanes<4>(rows[i]);
    if constexpr (kLanes > 8) {
      columns[8 + i] = repeat_four_lanes<8>(rows[i]);
      columns[12 + i] = repeat_four_lanes<12>(rows[i]);
    }
  }
}

// rows[j][i] = columns[i][j].
HEED_INLINE void transpose_to_rows(const Vec (&columns)[kLanes], Vec (&rows)[kFewRows]) {
#pragma GCC unroll 4
  for (int i = 0; i < kFewRows; ++i) {
    rows[i] = columns[i];
    if constexpr (kLanes > 4) rows[i] = join_lanes<4>(rows[i], columns[4 + i]);
    if constexpr (kLanes > 8) rows[i] = join_lanes<8>(rows[i], join_lanes<4>(columns[8 + i], columns[12 + i]));
  }
  exchange_all<1>(rows);
  exchange_all<2>(rows);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
