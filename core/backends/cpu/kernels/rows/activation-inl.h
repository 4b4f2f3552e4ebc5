// SPDX-License-Identifier: Apache-2.0
// Activations, in place. An element's result depends on nothing but the element.
//
// GELU is x Phi(x), with the tail of Phi (normal_tail-inl.h) on both sides of 0. So also the negative tail, where
// 1 + erf(x / sqrt 2) would cancel, has a small relative error: (1.12 x^2 + 9) units, most of it from the exponent, in which two
// products and log2(e) are rounded. The others are x times the logistic function sigma(y) = (y >= 0 ? 1 : a) / (1 + a) with
// a = e^-abs(y), within 1.23 abs(y) + 5 units for y as it is computed.
#pragma once

#include "backends/cpu/kernels/simd/exp2-inl.h"
#include "backends/cpu/kernels/simd/normal_tail-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "ops/activation.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Vectors that advance together: the chains of dependent operations are long.
constexpr int kActivationVectors = 4;

template <int count>
HEED_INLINE void gelu(Vec (&x)[count]) {
  Vec t[count];
  Vec power[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) {
    // From 15 on the power is 0. NaN is kept, since it is the second argument.
    t[i] = min(broadcast(15.0f), magnitude(x[i]));
    power[i] = t[i] * t[i] * broadcast(-0.5f * kLog2E);
  }
  exp2_of_nonpositive(power);
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) {
    const Vec tail = power[i] * tail_quotient(t[i]);
    x[i] *= select(x[i] < Vec{}, tail, broadcast(1.0f) - tail);
  }
}

// x sigma(y)
template <int count>
HEED_INLINE void multiply_by_logistic(Vec (&x)[count], const Vec (&y)[count]) {
  Vec power[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) power[i] = magnitude(y[i]) * broadcast(-kLog2E);
  exp2_of_nonpositive(power);
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i)
    x[i] *= select(y[i] < Vec{}, power[i], broadcast(1.0f)) / (power[i] + broadcast(1.0f));
}

template <int count>
HEED_INLINE void relu(Vec (&x)[count]) {
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) x[i] = select(x[i] < Vec{}, Vec{}, x[i]);
}

template <int count>
HEED_INLINE void gelu_tanh(Vec (&x)[count]) {
  Vec y[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) {
    // 2 sqrt(2 / pi) = 1.595769122
    const Vec square = x[i] * x[i];
    y[i] = x[i] * fma(square, broadcast(0.0713548163f), broadcast(1.59576912f));
  }
  multiply_by_logistic(x, y);
}

template <int count>
HEED_INLINE void gelu_quick(Vec (&x)[count]) {
  Vec y[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) y[i] = x[i] * broadcast(1.702f);
  multiply_by_logistic(x, y);
}

template <int count>
HEED_INLINE void silu(Vec (&x)[count]) {
  Vec y[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) y[i] = x[i];
  multiply_by_logistic(x, y);
}

template <Activation activation, int count>
HEED_INLINE void activate(Vec (&x)[count]) {
#define HEED_CALL(name, upper, word, flops) \
  if constexpr (activation == Activation::name) word(x);
  HEED_ACTIVATIONS(HEED_CALL)
#undef HEED_CALL
}

// Reads and writes whole vectors.
template <Activation activation>
static void activate_row(float* values, int64_t count) {
  constexpr int64_t kTogether = int64_t{kActivationVectors} * kLanes;
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    Vec x[kActivationVectors];
#pragma GCC unroll 4
    for (int64_t v = 0; v < kActivationVectors; ++v) x[v] = load(values + i + v * kLanes);
    activate<activation>(x);
#pragma GCC unroll 4
    for (int64_t v = 0; v < kActivationVectors; ++v) store(values + i + v * kLanes, x[v]);
  }
  for (; i < count; i += kLanes) {
    Vec x[1] = {load(values + i)};
    activate<activation>(x);
    store(values + i, x[0]);
  }
}

// `values` has room for whole vectors.
static void activate_row(Activation activation, float* values, int64_t count) {
  switch (activation) {
    case Activation::None: return;
#define HEED_CASE(name, upper, word, flops) \
  case Activation::name: return activate_row<Activation::name>(values, count);
      HEED_ACTIVATIONS(HEED_CASE)
#undef HEED_CASE
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
