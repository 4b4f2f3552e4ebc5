// SPDX-License-Identifier: Apache-2.0
// The hyperbolic tangent, of which additive scores need one for every element of every pair of query and key.
//
// With a = abs(x) = n * ln(2)/2 + f, n whole and s = 2^n, the addition theorem gives
//
//   tanh(a) = (s - 1 + t (s + 1)) / (s + 1 + t (s - 1)),   t = tanh(f),
//
// and t is an odd polynomial: f + f^3 * (3 coefficients), within 0.07 units of round-off for abs(f) <= 0.29. n = 0
// takes what is below 0.28, more than half of the first step, since there the fraction is 2t/2 and the result as exact
// as t; close to f = -ln(2)/4 of n = 1 it would be the least exact. The denominator is had from the numerator, to which
// it comes close where a is large: what the numerator is off by then cancels. Together that keeps the error below 1.75
// units in the last place, with and without FMA, over all floats.
#pragma once

#include "backends/cpu/kernels/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// The first half: t, s and the sign of x. Some fifty cycles pass from x to its tanh, and while the operations of a few
// wait for one another the scheduler's queues are full; so loops begin one before they finish the one before it.
struct BegunTanh {
  Vec t;
  Vec s;
  IntVec sign;
};

HEED_INLINE BegunTanh begin_tanh(Vec x) {
  const IntVec sign = bits_of(x) & INT32_MIN;
  // From 9.02 on it rounds to 1. NaN stays, being the second.
  const Vec a = min(broadcast(9.02f), from_bits(bits_of(x) ^ sign));

  // n = floor(a * 2/ln(2) + 3/16): the sum's unit is 1/16, so that all above its low 4 bits is n, next to which the
  // exponent's bias makes 2^n of it by a shift.
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

HEED_INLINE Vec finish_tanh(const BegunTanh& begun) {
  const Vec numerator = fma(begun.t, begun.s + 1.0f, begun.s - 1.0f);
  const Vec denominator = numerator + fma(begun.t, broadcast(-2.0f), broadcast(2.0f));
  return from_bits(bits_of(numerator / denominator) | begun.sign);
}

// Odd to the bit; -0, subnormals, infinities and NaN are right.
HEED_INLINE Vec tanh(Vec x) { return finish_tanh(begin_tanh(x)); }

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
