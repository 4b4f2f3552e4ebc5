// SPDX-License-Identifier: Apache-2.0
// 2^x for the softmax, for x <= 0. Scores are multiplied by log2(e) first, so that no constant has to be split in two,
// as ln 2 has in exp.
//
// x = n + f with n = floor(x), since AVX-512 scales by 2^floor(x). 2^f is a polynomial, and 2^n is put into the
// exponent. The polynomial is minimax of degree 6 with 2^0 = 1 exactly. Its error is 0.23 units of f32's round-off,
// 2^-24. Rounding of Horner's sums adds at most 0.92: half a unit each, times the powers of f that follow. Rounding of
// the products, without FMA, adds 0.42, and rounding of f, for x > -1, 0.35. So the result is within 1.5 units with FMA
// and 1.9 without. With degree 5 the error would be about one unit larger.
#pragma once

#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

constexpr float kLog2E = 0x1.715476p0f;

// Attention multiplies its exponentials by values. Processors compute with subnormal numbers some 100 times slower, and
// with ALiBi the keys far from a query have such exponentials: attention took 6 times as long. So exponentials below 2^-100
// are 0 there. All of them together change an output by less than K * 2^-100 times the largest value, far below the
// rounding errors (docs/semantics.md, rule 15); products with values above 2^-26 are then normal.
constexpr float kLeastExponent = -100.0f;

// Computes in place, for x <= 0, -inf or NaN. The result is 0 for x < -150, and NaN for NaN; subnormal results are
// correct. Several vectors advance together, step by step: one vector is a chain of ten dependent instructions, and
// with chains one after another the scheduler's queue would hold only few of them.
template <int count>
HEED_INLINE void exp2_of_nonpositive(Vec (&x)[count]) {
  Vec f[count];
  Vec p[count];
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) {
#if defined(HEED_SIMD_AVX512)
    f[i] = fraction(x[i]);
#else
    // Below -160 every result is 0, and the integers below would overflow. NaN is kept, since it is the second
    // argument.
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
    // 2^(n + 64) is normal for all n >= -160. So only the product with 2^-64 rounds, once, if the result is subnormal.
    const Vec power = from_bits((__builtin_convertvector(x[i], IntVec) + (127 + 64)) << 23);
    x[i] = p[i] * power * broadcast(0x1p-64f);
#endif
  }
}

// As exp2_of_nonpositive, with 0 for x below kLeastExponent.
template <int count>
HEED_INLINE void exp2_without_tiny(Vec (&x)[count]) {
  IntVec is_tiny[count];
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) is_tiny[i] = x[i] < broadcast(kLeastExponent);
  exp2_of_nonpositive(x);
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) x[i] = select(is_tiny[i], Vec{}, x[i]);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
