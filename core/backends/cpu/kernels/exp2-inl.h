// SPDX-License-Identifier: Apache-2.0
// 2^x for the softmax, whose exponents are at most 0: scores are kept times log2(e), so that no constant has to be split
// in two as exp's ln 2 has.
//
// x = n + f with n whole and abs(f) <= 1/2; 2^f is a polynomial, and 2^n is put into the exponent. The polynomial is
// minimax of degree 6 with 2^0 = 1 exactly. It is off by 0.27 units of f32's round-off; half a unit of each of Horner's
// sums, times the powers of f that follow, adds at most 1.12, and the products, where they are rounded too, 0.41. So the
// result is within 1.4 units with FMA and 1.8 without. Degree 5 would have 3.5 in all.
#pragma once

#include "backends/cpu/kernels/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// For x <= 0, -inf or NaN. 0 where x <= -150, NaN where x is; subnormal results are right.
HEED_INLINE Vec exp2_of_nonpositive(Vec x) {
#if !defined(HEED_SIMD_AVX512)
  // Below this everything is 0, and what follows would leave the range of its integers. NaN stays (it is the second).
  x = max(broadcast(-160.0f), x);
#endif
  const Vec n = round_to_whole(x);
#if defined(HEED_SIMD_AVX512)
  const Vec f = fraction(x);
#else
  const Vec f = x - n;
#endif
  Vec p = broadcast(0.000153458124f);
  p = fma(p, f, broadcast(0.00133999309f));
  p = fma(p, f, broadcast(0.00961848907f));
  p = fma(p, f, broadcast(0.0555032864f));
  p = fma(p, f, broadcast(0.240226462f));
  p = fma(p, f, broadcast(0.693147182f));
  p = fma(p, f, broadcast(1.0f));
#if defined(HEED_SIMD_AVX512)
  return scale_by_power_of_2(p, n);
#else
  // 2^(n + 64) is normal for all n >= -160; the product with 2^-64 is what rounds, once, where the result is subnormal.
  const Vec power = from_bits((__builtin_convertvector(n, IntVec) + (127 + 64)) << 23);
  return p * power * broadcast(0x1p-64f);
#endif
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
