// SPDX-License-Identifier: Apache-2.0
// The hyperbolic tangent. Additive scores compute one for every element of every pair of query and key.
//
// With a = abs(x) = n * ln(2)/2 + f, n whole and s = 2^n, the addition theorem gives
//
//   tanh(a) = (s - 1 + t (s + 1)) / (s + 1 + t (s - 1)),   t = tanh(f),
//
// and t is an odd polynomial, f + f^3 * (3 coefficients), within 0.07 units of round-off for abs(f) <= 0.29. n = 0 is
// used for a < 0.28, more than half of the first step: there the fraction is 2t/2 and the result is as exact as t,
// while with n = 1 it would be least exact there, near f = -ln(2)/4. The denominator is computed from the numerator.
// For large a both are close, so that the numerator's error cancels. In total the error is below 1.75 units in the last
// place, with and without FMA, for all floats.
#pragma once

#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// The first half: t, s and the sign of x. A tanh takes some fifty cycles, and a few chains of dependent operations fill
// the scheduler's queues. So loops begin the next tanh before they finish the current one.
struct PartialTanh {
  Vec t;
  Vec s;
  IntVec sign;
};

HEED_INLINE PartialTanh begin_tanh(Vec x) {
  const IntVec sign = bits_of(x) & INT32_MIN;
  // From 9.02 on the result rounds to 1. NaN is kept, since it is the second argument.
  const Vec a = min(broadcast(9.02f), from_bits(bits_of(x) ^ sign));

  // n = floor(a * 2/ln(2) + 3/16). The unit of the sum is 1/16: all bits above the low 4 are n plus the exponent's
  // bias, so that a shift makes 2^n of them.
  const Vec magic = broadcast(0x1.8p19f + 127.0f);
  const IntVec whole = bits_of(fma(a, broadcast(2.88539004f), magic + broadcast(0.1875f))) & ~15;
  const Vec n = from_bits(whole) - magic;
  // f32's ln(2)/2 is off by 0.05 units of round-off only.
  const Vec f = fma(n, broadcast(-0.346573591f), a);

  const Vec square = f * f;
  Vec p = fma(square, broadcast(-0.0512317903f), broadcast(0.133227408f));
  p = fma(square, p, broadcast(-0.333332151f));
  return {fma(f * square, p, f), from_bits(whole << 19), sign};
}

HEED_INLINE Vec finish_tanh(const PartialTanh& begun) {
  const Vec numerator = fma(begun.t, begun.s + 1.0f, begun.s - 1.0f);
  const Vec denominator = numerator + fma(begun.t, broadcast(-2.0f), broadcast(2.0f));
  return from_bits(bits_of(numerator / denominator) | begun.sign);
}

// tanh(-x) = -tanh(x) bitwise. -0, subnormals, infinities and NaN are correct.
HEED_INLINE Vec tanh(Vec x) { return finish_tanh(begin_tanh(x)); }

// 1 / cap, which overflows if the cap is so small that all results are subnormal.
HEED_INLINE float inverse_of_cap(float cap) { return 1.0f / cap < __FLT_MAX__ ? 1.0f / cap : __FLT_MAX__; }

// Elements x of `count` vectors, at least one, become cap * tanh(x / cap). The vectors are `step` elements apart.
template <int64_t step>
static void cap_vectors(float cap, int64_t count, float* values) {
  const float inverse = inverse_of_cap(cap);
  PartialTanh begun = begin_tanh(load(values) * broadcast(inverse));
  for (int64_t i = 1; i <= count; ++i) {
    // The vector begun in the last iteration is not used.
    const int64_t next = smaller(i, count - 1);
    const PartialTanh before = begun;
    begun = begin_tanh(load(values + next * step) * broadcast(inverse));
    store(values + (i - 1) * step, finish_tanh(before) * broadcast(cap));
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
