// SPDX-License-Identifier: Apache-2.0
// 2^x for the softmax, whose exponents are at most 0: scores are kept times log2(e), so that no constant has to be
// split in two as exp's ln 2 has.
//
// x = n + f with n = floor(x), since that is how AVX-512 scales by a power of 2 that is not whole; 2^f is a polynomial,
// and 2^n is put into the exponent. The polynomial is minimax of degree 6 with 2^0 = 1 exactly. It is off by 0.23 units
// of f32's round-off, 2^-24; half a unit of each of Horner's sums, times the powers of f that follow, adds at most
// 0.92, and the products, where they are rounded too, 0.42; that f is rounded where x > -1 makes 0.35. So the result is
// within 1.5 units with FMA and 1.9 without. Degree 5 would have one more.
#pragma once

#include "backends/cpu/kernels/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

constexpr float kLog2E = 0x1.715476p0f;

// In place, for x <= 0, -inf or NaN. 0 where x < -150, NaN where x is; subnormal results are right. Several vectors go
// step by step together: ten instructions that wait for one another would fill the scheduler's queue with those of few.
template <int count>
HEED_INLINE void exp2_of_nonpositive(Vec (&x)[count]) {
  Vec f[count];
  Vec p[count];
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) {
#if defined(HEED_SIMD_AVX512)
    f[i] = fraction(x[i]);
#else
    // Below this everything is 0, and what follows would leave the range of its integers. NaN stays (it is the second).
    x[i] = max(broadcast(-160.0f), x[i]);
    const Vec n = floor(x[i]);
    f[i] = x[i] - n;
    x[i] = n;
#endif
    p[i] = broadcast(0.000216129159f);
  }
  constexpr float kCoefficients[] = {0.00124678462f, 0.00967545159f, 0.0554852806f, 0.240229306f, 0.693147044f, 1.0f};
#pragma GCC unroll 8
  for (const float coefficient : kCoefficients) {
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i) p[i] = fma(p[i], f[i], broadcast(coefficient));
  }
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) {
#if defined(HEED_SIMD_AVX512)
    x[i] = scale_by_power_of_2(p[i], x[i]);
#else
    // 2^(n + 64) is normal for all n >= -160; the product with 2^-64 is what rounds, once, where the result is
    // subnormal.
    const Vec power = from_bits((__builtin_convertvector(x[i], IntVec) + (127 + 64)) << 23);
    x[i] = p[i] * power * broadcast(0x1p-64f);
#endif
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
