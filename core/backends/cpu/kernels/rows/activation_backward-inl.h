// SPDX-License-Identifier: Apache-2.0
// Derivatives of activations, with their values, and what they are multiplied by (ops/activate_backward.h). With sigma(y) the logistic
// function, Phi and phi the normal distribution's function and density:
//   x Phi(x):   Phi(x) + x phi(x)
//   x sigma(y): sigma(y) + x y' sigma(y) (1 - sigma(y))
// The second terms vanish long before x is as large as the limit below, where their factors would be 0 times infinity.
#pragma once

#include "backends/cpu/kernels/rows/activation-inl.h"
#include "backends/cpu/kernels/rows/gradients.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "backends/cpu/kernels/simd/tanh-inl.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// x within -limit .. limit. NaN is kept, since it is the second argument.
HEED_INLINE Vec limited(Vec x, float limit) { return max(broadcast(-limit), min(broadcast(limit), x)); }

// The derivative of x sigma(y), with `slope` the derivative of y, both of the limited x.
template <int count>
HEED_INLINE void logistic_derivative(const Vec (&x)[count], const Vec (&y)[count], const Vec (&slope)[count],
                                     Vec (&derivative)[count]) {
  Vec power[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) power[i] = magnitude(y[i]) * broadcast(-kLog2E);
  exp2_of_nonpositive(power);
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) {
    const Vec inverse = broadcast(1.0f) / (power[i] + broadcast(1.0f));
    const Vec other = power[i] * inverse;  // sigma(-abs(y))
    derivative[i] = fma(x[i] * slope[i], inverse * other, select(y[i] < Vec{}, other, inverse));
  }
}

template <int count>
HEED_INLINE void relu_derivative(const Vec (&x)[count], Vec (&derivative)[count]) {
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) derivative[i] = select(x[i] <= Vec{}, Vec{}, broadcast(1.0f));
}

template <int count>
HEED_INLINE void gelu_derivative(const Vec (&x)[count], Vec (&derivative)[count]) {
  Vec near[count];
  Vec power[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) {
    near[i] = limited(x[i], 15.0f);
    power[i] = near[i] * near[i] * broadcast(-0.5f * kLog2E);
  }
  exp2_of_nonpositive(power);
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) {
    const Vec tail = power[i] * tail_quotient(magnitude(near[i]));
    // 1 / sqrt(2 pi) = 0.3989422804
    derivative[i] =
        fma(near[i] * broadcast(0.39894228f), power[i], select(near[i] < Vec{}, tail, broadcast(1.0f) - tail));
  }
}

template <int count>
HEED_INLINE void gelu_tanh_derivative(const Vec (&x)[count], Vec (&derivative)[count]) {
  Vec near[count];
  Vec y[count];
  Vec slope[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) {
    near[i] = limited(x[i], 15.0f);
    const Vec square = near[i] * near[i];
    y[i] = near[i] * fma(square, broadcast(0.0713548163f), broadcast(1.59576912f));
    slope[i] = fma(square, broadcast(3 * 0.0713548163f), broadcast(1.59576912f));
  }
  logistic_derivative(near, y, slope, derivative);
}

// Of x sigma(factor x), the Swish function.
template <int count>
HEED_INLINE void swish_derivative(const Vec (&x)[count], float factor, Vec (&derivative)[count]) {
  Vec near[count];
  Vec y[count];
  Vec slope[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) {
    near[i] = limited(x[i], 150.0f);
    y[i] = near[i] * broadcast(factor);
    slope[i] = broadcast(factor);
  }
  logistic_derivative(near, y, slope, derivative);
}

template <int count>
HEED_INLINE void gelu_quick_derivative(const Vec (&x)[count], Vec (&derivative)[count]) {
  swish_derivative(x, 1.702f, derivative);
}

template <int count>
HEED_INLINE void silu_derivative(const Vec (&x)[count], Vec (&derivative)[count]) {
  swish_derivative(x, 1.0f, derivative);
}

// Vectors of elements that advance together.
struct ActivationVectors {
  static constexpr int kCount = kActivationVectors;
  Vec argument[kCount];  // of the activation
  Vec gradient[kCount];  // of its value
  Vec slope[kCount];     // of the cap
};

HEED_INLINE Vec load_vector(const StridedRow& row, int64_t i) { return load(static_cast<const float*>(row.data) + i); }
HEED_INLINE void store_vector(const StridedRow& row, int64_t i, Vec value) {
  store(static_cast<float*>(row.data) + i, value);
}

// gradient = output_gradient * factor
HEED_INLINE ActivationVectors load_activation(const ActivateBackwardArguments& arguments, int64_t first) {
  ActivationVectors vectors;
#pragma GCC unroll 4
  for (int v = 0; v < ActivationVectors::kCount; ++v) {
    const int64_t i = first + v * kLanes;
    vectors.argument[v] = load_vector(arguments.sum, i) * broadcast(arguments.scale);
    vectors.gradient[v] = load_vector(arguments.output_gradient, i);
    if (arguments.factor.data != nullptr) vectors.gradient[v] *= load_vector(arguments.factor, i);
  }
  if (arguments.soft_cap > 0) {
    const Vec inverse = broadcast(inverse_of_cap(arguments.soft_cap));
#pragma GCC unroll 4
    for (int v = 0; v < ActivationVectors::kCount; ++v) {
      const Vec capped = tanh(vectors.argument[v] * inverse);
      vectors.argument[v] = capped * broadcast(arguments.soft_cap);
      vectors.slope[v] = broadcast(1.0f) - capped * capped;
    }
  }
  return vectors;
}

template <Activation activation>
HEED_INLINE void activation_backward_vectors(const ActivateBackwardArguments& arguments, int64_t first) {
  constexpr int kCount = ActivationVectors::kCount;
  ActivationVectors vectors = load_activation(arguments, first);
  Vec derivative[kCount];
#define HEED_CALL(name, upper, word, flops) \
  if constexpr (activation == Activation::name) word##_derivative(vectors.argument, derivative);
  HEED_ACTIVATIONS(HEED_CALL)
#undef HEED_CALL
  if (arguments.factor_gradient.data != nullptr) activate<activation>(vectors.argument);
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) {
    const int64_t i = first + v * kLanes;
    const Vec output_gradient = load_vector(arguments.output_gradient, i);
    // Where there is no gradient, all results are 0.
    const IntVec is_zero = output_gradient == Vec{};
    Vec gradient = vectors.gradient[v];
    if constexpr (activation != Activation::None) gradient *= derivative[v];
    if (arguments.soft_cap > 0) gradient *= vectors.slope[v];
    gradient = select(is_zero, Vec{}, gradient * broadcast(arguments.scale));
    if (arguments.sum_gradient.data != nullptr) store_vector(arguments.sum_gradient, i, gradient);
    if (arguments.factor_gradient.data == nullptr) continue;
    store_vector(arguments.factor_gradient, i, select(is_zero, Vec{}, output_gradient * vectors.argument[v]));
  }
}

constexpr int64_t kTogether = int64_t{ActivationVectors::kCount} * kLanes;

// Adjacent elements, a multiple of kTogether.
template <Activation activation>
static void activation_backward(const ActivateBackwardArguments& arguments) {
  for (int64_t i = 0; i < arguments.count; i += kTogether) activation_backward_vectors<activation>(arguments, i);
}
static void activation_backward(const ActivateBackwardArguments& arguments) {
  switch (arguments.activation) {
    case Activation::None: return activation_backward<Activation::None>(arguments);
#define HEED_CASE(name, upper, word, flops) \
  case Activation::name: return activation_backward<Activation::name>(arguments);
      HEED_ACTIVATIONS(HEED_CASE)
#undef HEED_CASE
  }
}

// Whether the elements of all rows are adjacent.
static bool are_adjacent(const ActivateBackwardArguments& arguments) {
  const StridedRow* const rows[] = {&arguments.output_gradient, &arguments.sum, &arguments.factor,
                                    &arguments.sum_gradient, &arguments.factor_gradient};
  bool adjacent = true;
  for (const StridedRow* row : rows) adjacent = adjacent && (row->data == nullptr || row->stride == 1);
  return adjacent;
}

static void activation_backward_row(const ActivateBackwardArguments* arguments) {
  int64_t done = 0;
  if (are_adjacent(*arguments)) {
    ActivateBackwardArguments whole = *arguments;
    done = whole.count = arguments->count / kTogether * kTogether;
    activation_backward(whole);
  }
  // Other elements are copied, as many at a time as are in the first-level cache together.
  constexpr int64_t kPart = 256;
  static_assert(kPart % kTogether == 0);
  constexpr int kInputs = 3;
  constexpr int kRows = 5;
  float memory[kRows][kPart];
  for (; done < arguments->count; done += kPart) {
    const int64_t part = smaller(arguments->count - done, kPart);
    ActivateBackwardArguments staged = *arguments;
    staged.count = round_up(part, kTogether);
    StridedRow* const rows[kRows] = {&staged.output_gradient, &staged.sum, &staged.factor, &staged.sum_gradient,
                                     &staged.factor_gradient};
    StridedRow given[kRows];
    for (int r = 0; r < kRows; ++r) {
      given[r] = *rows[r];
      if (given[r].data == nullptr) continue;
      given[r].data = static_cast<float*>(given[r].data) + done * given[r].stride;
      *rows[r] = {memory[r], 1, DType::F32};
      if (r >= kInputs) continue;
      for (int64_t i = part / kLanes * kLanes; i < staged.count; i += kLanes) store(memory[r] + i, Vec{});
      widen_row(static_cast<const char*>(given[r].data), DType::F32, given[r].stride, part, memory[r]);
    }
    activation_backward(staged);
    for (int r = kInputs; r < kRows; ++r) {
      if (given[r].data != nullptr)
        narrow_row(memory[r], part, static_cast<char*>(given[r].data), DType::F32, given[r].stride);
    }
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
