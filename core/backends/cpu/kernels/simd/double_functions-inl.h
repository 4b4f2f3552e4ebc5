// SPDX-License-Identifier: Apache-2.0
// Functions of f32 that f32 alone computes badly: the angle of a sine is reduced, and the logarithm of a power is multiplied, in f64.
// The results are rounded to f32 once, and are within 0.51 units.
#pragma once

#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

using DoubleVec = double __attribute__((vector_size(sizeof(Vec))));
// Comparisons of DoubleVec give masks of this type.
using DoubleMask = int64_t __attribute__((vector_size(sizeof(Vec))));
using FloatsOfDoubles = float __attribute__((vector_size(sizeof(Vec) / 2)));

HEED_INLINE DoubleVec doubles(double value) { return DoubleVec{} + value; }
HEED_INLINE LongVec long_bits(DoubleVec x) { return reinterpret_cast<LongVec>(x); }
HEED_INLINE DoubleVec of_long_bits(LongVec bits) { return reinterpret_cast<DoubleVec>(bits); }

// A vector of floats as two vectors of doubles, and back.
struct Doubles {
  DoubleVec halves[2];
};
HEED_INLINE Doubles widen(Vec x) {
  FloatsOfDoubles halves[2];
  __builtin_memcpy(halves, &x, sizeof x);
  return {{__builtin_convertvector(halves[0], DoubleVec), __builtin_convertvector(halves[1], DoubleVec)}};
}
HEED_INLINE Vec narrow(const Doubles& x) {
  const FloatsOfDoubles halves[2] = {__builtin_convertvector(x.halves[0], FloatsOfDoubles),
                                     __builtin_convertvector(x.halves[1], FloatsOfDoubles)};
  Vec result;
  __builtin_memcpy(&result, halves, sizeof result);
  return result;
}

// The nearest whole number of an x below 2^51, and its bits modulo 2^51: at this size doubles have units of 1.
struct Whole {
  DoubleVec number;
  LongVec bits;
};
HEED_INLINE Whole nearest(DoubleVec x) {
  const DoubleVec shifted = x + doubles(0x1.8p52);
  return {shifted - doubles(0x1.8p52), long_bits(shifted)};
}
// A mask of all bits where the lowest bit is 1.
HEED_INLINE LongVec is_odd(LongVec bits) { return LongVec{} - (bits & 1); }

// c0 + c1 x + c2 x^2 + c3 x^3, in which few steps wait for each other.
HEED_INLINE DoubleVec cubic(DoubleVec x, DoubleVec square, double c0, double c1, double c2, double c3) {
  return (x * doubles(c1) + doubles(c0)) + square * (x * doubles(c3) + doubles(c2));
}

// sin(x + quarter turns). n quarter turns are subtracted in two parts, of which the first, of 33 bits, is exact for n below 2^20.
// The rest r is in [-pi/4, pi/4], where sin(r) = r (1 + r^2 S(r^2)) and cos(r) = 1 + r^2 C(r^2), minimax within 2^-37 and 2^-43.
template <int quarter_turns>
HEED_INLINE DoubleVec sine(DoubleVec x) {
  const Whole n = nearest(x * doubles(0x1.45f306dc9c883p-1));
  const DoubleVec r = (x - n.number * doubles(0x1.921fb544p+0)) - n.number * doubles(0x1.0b4611a626331p-34);
  const DoubleVec z = r * r;
  const DoubleVec square = z * z;
  const DoubleVec s =
      cubic(z, square, -0.1666666664161679, 0.008333329384751398, -0.0001983933446580385, 2.7183079288075306e-06);
  const DoubleVec c =
      cubic(z, square, -0.4999999999954441, 0.041666666561994185, -0.001388888107403903, 2.4799040019309743e-05) +
      square * square * doubles(-2.718002513855955e-07);
  const LongVec turns = n.bits + quarter_turns;
  const LongVec is_cosine = is_odd(turns);
  const LongVec of_sine = long_bits(r * (z * s + doubles(1.0)));
  const LongVec of_cosine = long_bits(z * c + doubles(1.0));
  const LongVec chosen = (of_cosine & is_cosine) | (of_sine & ~is_cosine);
  return of_long_bits(chosen ^ ((turns & 2) << 62));
}

// log2(a) of a positive a: a = 2^k m with sqrt(1/2) <= m < sqrt(2), and log2(m) = 2 / ln(2) artanh(s) with s = (m - 1) / (m + 1). The
// series of artanh ends within 2^-44.
HEED_INLINE DoubleVec log2_of(DoubleVec a) {
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  constexpr uint64_t kBias = uint64_t{1023} << 52;
  const LongVec bits = long_bits(a) - kSqrtHalf;
  const LongVec mantissa = (bits & 0x000fffffffffffff) + kSqrtHalf;
  // k, as the exponent of a number near 2^52, whose units are 1. Negative exponents are counted from 1024 up.
  const LongVec exponent = ((bits + kBias + (uint64_t{1} << 52)) >> 52) & 0x7ff;
  const DoubleVec k = of_long_bits(exponent | (uint64_t{0x433} << 52)) - doubles(0x1p52 + 1024);
  const DoubleVec m = of_long_bits(mantissa);
  const DoubleVec s = (m - doubles(1.0)) / (m + doubles(1.0));
  const DoubleVec z = s * s;
  const DoubleVec square = z * z;
  const DoubleVec p = cubic(z, square, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7) +
                      square * square * cubic(z, square, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15);
  return s * p * doubles(0x1.71547652b82fep+1) + k;
}

// 2^t = 2^n e^(r ln 2), with n the whole number next to t. The series of e ends within 2^-42. Beyond 200 the result is 0 or infinite
// as a float.
HEED_INLINE DoubleVec exp2_of(DoubleVec t) {
  t = t > doubles(200) ? doubles(200) : t;
  t = t < doubles(-200) ? doubles(-200) : t;
  const Whole n = nearest(t);
  const DoubleVec r = (t - n.number) * doubles(0x1.62e42fefa39efp-1);
  const DoubleVec square = r * r;
  const DoubleVec fourth = square * square;
  const DoubleVec last = (r * doubles(1.0 / 362880) + doubles(1.0 / 40320)) + square * doubles(1.0 / 3628800);
  const DoubleVec p = cubic(r, square, 1.0, 1.0, 0.5, 1.0 / 6) +
                      fourth * (cubic(r, square, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040) + fourth * last);
  return of_long_bits(long_bits(p) + (n.bits << 52));
}

// a^b = 2^(b log2 |a|), with the sign of a where b is odd; NaN where a is negative and b no whole number. a is finite and not 0, b is
// finite.
HEED_INLINE DoubleVec power(DoubleVec a, DoubleVec b) {
  const LongVec sign = long_bits(a) & (uint64_t{1} << 63);
  const DoubleVec magnitude = of_long_bits(long_bits(a) ^ sign);
  // From 2^25 on all floats are even.
  DoubleVec limited = b > doubles(0x1p26) ? doubles(0x1p26) : b;
  limited = limited < doubles(-0x1p26) ? doubles(-0x1p26) : limited;
  const Whole whole = nearest(limited);
  const LongVec is_whole = reinterpret_cast<LongVec>(whole.number == limited);
  const DoubleVec result = of_long_bits(long_bits(exp2_of(b * log2_of(magnitude))) ^ (sign & is_odd(whole.bits)));
  const LongVec is_number = is_whole | ~(LongVec{} - (sign >> 63));
  return of_long_bits((long_bits(result) & is_number) | (~is_number & 0x7ff8000000000000));
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
