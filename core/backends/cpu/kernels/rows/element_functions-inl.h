// SPDX-License-Identifier: Apache-2.0
// Functions of single elements in f32, for those of ops/elementwise_functions.h that a vector computes faster than a
// processor's scalar instructions. docs/semantics.md ("Arithmetic") has the errors.
#pragma once

#include "backends/cpu/kernels/rows/vector_functions.h"
#include "backends/cpu/kernels/simd/double_functions-inl.h"
#include "backends/cpu/kernels/simd/exp2-inl.h"
#include "backends/cpu/kernels/simd/normal_tail-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "backends/cpu/kernels/simd/tanh-inl.h"
#include "ops/elementwise_functions.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

HEED_INLINE IntVec sign_of(Vec x) { return bits_of(x) & INT32_MIN; }

// A vector of function(a, b) for a function of two elements; those of one have the same form without b.
struct Add {
  HEED_INLINE_MEMBER static Vec of(Vec a, Vec b) { return a + b; }
};
struct Subtract {
  HEED_INLINE_MEMBER static Vec of(Vec a, Vec b) { return a - b; }
};
struct Multiply {
  HEED_INLINE_MEMBER static Vec of(Vec a, Vec b) { return a * b; }
};
struct Divide {
  HEED_INLINE_MEMBER static Vec of(Vec a, Vec b) { return a / b; }
};
// NaN in a is not equal to itself; with NaN in b the comparison is false.
struct Maximum {
  HEED_INLINE_MEMBER static Vec of(Vec a, Vec b) { return select((a >= b) | (a != a), a, b); }
};
struct Minimum {
  HEED_INLINE_MEMBER static Vec of(Vec a, Vec b) { return select((a <= b) | (a != a), a, b); }
};

struct Negative {
  HEED_INLINE_MEMBER static Vec of(Vec x) { return from_bits(bits_of(x) ^ INT32_MIN); }
};
struct Absolute {
  HEED_INLINE_MEMBER static Vec of(Vec x) { return magnitude(x); }
};
struct Sign {
  HEED_INLINE_MEMBER static Vec of(Vec x) {
    const Vec one = from_bits(bits_of(broadcast(1.0f)) | sign_of(x));
    return select(x == Vec{}, Vec{}, select(x != x, x, one));
  }
};
struct Square {
  HEED_INLINE_MEMBER static Vec of(Vec x) { return x * x; }
};
// From 2^23 on all floats are whole numbers. Below, a sum with 2^23 has units of 1, and is rounded as it should be.
HEED_INLINE Vec round_magnitude(Vec a) {
  const Vec rounded = (a + broadcast(0x1p23f)) - broadcast(0x1p23f);
  return select(a < broadcast(0x1p23f), rounded, a);
}
struct Round {
  HEED_INLINE_MEMBER static Vec of(Vec x) { return from_bits(bits_of(round_magnitude(magnitude(x))) | sign_of(x)); }
};
// The whole number of the magnitude below it.
HEED_INLINE Vec truncate_magnitude(Vec a) {
  const Vec rounded = round_magnitude(a);
  return select(rounded > a, rounded - broadcast(1.0f), rounded);
}
struct Truncate {
  HEED_INLINE_MEMBER static Vec of(Vec x) { return from_bits(bits_of(truncate_magnitude(magnitude(x))) | sign_of(x)); }
};
struct Floor {
  HEED_INLINE_MEMBER static Vec of(Vec x) {
    const Vec truncated = Truncate::of(x);
    return select(truncated > x, truncated - broadcast(1.0f), truncated);
  }
};
struct Ceil {
  HEED_INLINE_MEMBER static Vec of(Vec x) { return Negative::of(Floor::of(Negative::of(x))); }
};

// e^x = 2^n e^r with n = round(x / ln 2). n times the first part of ln 2 is exact, with and without FMA. e^r = 1 + r + r^2 q(r),
// where q is minimax of degree 4 on [-ln(2)/2, ln(2)/2], within 0.06 units of f32's round-off. 2^n is multiplied in two steps,
// so that results may be subnormal or infinite.
struct Exp {
  HEED_INLINE_MEMBER static Vec of(Vec x) {
    // Beyond these limits the result is 0 or infinite. NaN is kept, since it is the second argument.
    x = min(broadcast(89.0f), max(broadcast(-104.0f), x));
    const Vec n = Round::of(x * broadcast(kLog2E));
    Vec r = fma(n, broadcast(-0x1.62e4p-1f), x);
    r = fma(n, broadcast(-1.42860677e-6f), r);
    Vec q = fma(r, broadcast(0.00138143206f), broadcast(0.00836885069f));
    q = fma(r, q, broadcast(0.0416684002f));
    q = fma(r, q, broadcast(0.166665196f));
    q = fma(r, q, broadcast(0.49999994f));
    const Vec power = fma(r * r, q, r) + broadcast(1.0f);
    const IntVec exponent = __builtin_convertvector(select(n == n, n, Vec{}), IntVec);
    const IntVec half = exponent >> 1;
    return power * from_bits((half + 127) << 23) * from_bits((exponent - half + 127) << 23);
  }
};

// x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and log(1 + f) = f - f^2 / 2 + f^3 R(f), where R is minimax of degree 7,
// within 0.1 units of round-off. k times the first part of ln 2 is exact.
struct Log {
  HEED_INLINE_MEMBER static Vec of(Vec x) {
    constexpr int32_t kSqrtHalf = 0x3f3504f3;
    const Vec infinity = broadcast(__builtin_inff());
    const IntVec is_ordinary = (x > Vec{}) & (x < infinity);
    // The bits of others would overflow below.
    const Vec ordinary = select(is_ordinary, x, broadcast(1.0f));
    const IntVec is_subnormal = ordinary < broadcast(0x1p-126f);
    const IntVec bits = bits_of(select(is_subnormal, ordinary * broadcast(0x1p23f), ordinary)) - kSqrtHalf;
    const Vec k = __builtin_convertvector((bits >> 23) - (is_subnormal & 23), Vec);
    const Vec f = from_bits((bits & 0x007fffff) + kSqrtHalf) - broadcast(1.0f);
    Vec p = fma(f, broadcast(-0.0763450265f), broadcast(0.12761578f));
    p = fma(f, p, broadcast(-0.13160181f));
    p = fma(f, p, broadcast(0.142017573f));
    p = fma(f, p, broadcast(-0.166233569f));
    p = fma(f, p, broadcast(0.200012267f));
    p = fma(f, p, broadcast(-0.250008196f));
    p = fma(f, p, broadcast(0.333333313f));
    const Vec square = f * f;
    const Vec tail = fma(square * f, p, fma(k, broadcast(1.42860677e-6f), broadcast(-0.5f) * square));
    const Vec result = fma(k, broadcast(0x1.62e4p-1f), f + tail);
    // Of 0 -inf; NaN below 0 and for NaN; infinity stays.
    const Vec special = select(x == Vec{}, -infinity, select(x == infinity, x, broadcast(__builtin_nanf(""))));
    return select(is_ordinary, result, special);
  }
};

struct Tanh {
  HEED_INLINE_MEMBER static Vec of(Vec x) { return tanh(x); }
};

// With e^-abs(x), which cannot overflow.
struct Sigmoid {
  HEED_INLINE_MEMBER static Vec of(Vec x) {
    const Vec power = Exp::of(from_bits(bits_of(x) | INT32_MIN));
    return select(x < Vec{}, power, broadcast(1.0f)) / (power + broadcast(1.0f));
  }
};

// Below 1: x + x Q(x^2), minimax of degree 6. From 1 on: 1 - 2 Phi(-sqrt(2) x).
struct Erf {
  HEED_INLINE_MEMBER static Vec of(Vec x) {
    // From 4 on the result rounds to 1. NaN is kept, since it is the second argument.
    const Vec a = min(broadcast(10.0f), magnitude(x));
    const Vec square = a * a;
    Vec q = fma(square, broadcast(7.85386146e-05f), broadcast(-0.000801019371f));
    q = fma(square, q, broadcast(0.00518832775f));
    q = fma(square, q, broadcast(-0.0268538129f));
    q = fma(square, q, broadcast(0.112835854f));
    q = fma(square, q, broadcast(-0.37612626f));
    q = fma(square, q, broadcast(0.12837914f));
    const Vec near = fma(a, q, a);

    const Vec tail = Exp::of(-square) * tail_quotient(a * broadcast(1.41421356f));
    const Vec far = fma(tail, broadcast(-2.0f), broadcast(1.0f));
    // NaN is in both.
    return from_bits(bits_of(select(a < broadcast(1.0f), near, far)) | sign_of(x));
  }
};

// Of angles up to kLargestAngle.
struct Sin {
  HEED_INLINE_MEMBER static Vec of(Vec x) {
    const Doubles wide = widen(x);
    return narrow({{sine<0>(wide.halves[0]), sine<0>(wide.halves[1])}});
  }
};
struct Cos {
  HEED_INLINE_MEMBER static Vec of(Vec x) {
    const Doubles wide = widen(x);
    return narrow({{sine<1>(wide.halves[0]), sine<1>(wide.halves[1])}});
  }
};
// Of finite numbers, a other than 0.
struct Power {
  HEED_INLINE_MEMBER static Vec of(Vec a, Vec b) {
    const Doubles bases = widen(a);
    const Doubles exponents = widen(b);
    return narrow({{power(bases.halves[0], exponents.halves[0]), power(bases.halves[1], exponents.halves[1])}});
  }
};

// The output may be an input.
template <typename Function>
static void apply_to_one(const float* x, float* output, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(output + i, Function::of(load(x + i)));
  if (i < count) store_first(output + i, Function::of(load_first(x + i, count - i)), count - i);
}
template <typename Function>
static void apply_to_two(const float* a, const float* b, float* output, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(output + i, Function::of(load(a + i), load(b + i)));
  const int64_t rest = count - i;
  if (rest > 0) store_first(output + i, Function::of(load_first(a + i, rest), load_first(b + i, rest)), rest);
}

// One of HEED_VECTOR_FUNCTIONS for `count` adjacent floats. The output may be an input; b is only read for functions of two.
static void element_block(ElementFunction function, const float* a, const float* b, float* output, int64_t count) {
#define HEED_IF(name) \
  if (function == ElementFunction::name) return apply_to_one<name>(a, output, count);
  HEED_VECTOR_FUNCTIONS_OF_ONE(HEED_IF)
#undef HEED_IF
#define HEED_IF(name) \
  if (function == ElementFunction::name) return apply_to_two<name>(a, b, output, count);
  HEED_VECTOR_FUNCTIONS_OF_TWO(HEED_IF)
#undef HEED_IF
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
