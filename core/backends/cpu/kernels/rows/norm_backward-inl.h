// SPDX-License-Identifier: Apache-2.0
// The gradients of the norm of one row, and those of its parameters in some columns of all rows. Lanes are adjacent elements. The
// order of the sums over a row depends only on its size; those over rows are one chain for each column.
#pragma once

#include "backends/cpu/kernels/attention/repaired_sums-inl.h"
#include "backends/cpu/kernels/attention/row_parts-inl.h"
#include "backends/cpu/kernels/rows/gradients.h"
#include "backends/cpu/kernels/rows/norm-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// The elements of a row after the norm, before its weight.
struct Normalized {
  Vec scale;
  Vec shift;
  Vec correction;
  Vec factor;

  explicit Normalized(const RowMoments& moments)
      : scale(broadcast(moments.scale)),
        shift(broadcast(moments.shift)),
        correction(broadcast(moments.correction)),
        factor(broadcast(moments.factor)) {}
  explicit Normalized(const NormalizedRow& row)
      : scale(broadcast(row.scale)),
        shift(broadcast(row.shift)),
        correction(broadcast(row.correction)),
        factor(broadcast(row.factor)) {}
  HEED_INLINE_MEMBER Vec of(Vec x) const { return ((x * scale - shift) - correction) * factor; }
};

static bool is_zero_row(const StridedRow& row, int64_t size) {
  for (int64_t i = 0; i < size; i += kLanes) {
    if (any(load_row_part(row, i, smaller(size - i, kLanes)) != Vec{})) return false;
  }
  return true;
}

// The sums over a row of t = output_gradient * weight, and of t times the normalized input.
struct NormMeans {
  float of_t;
  float of_products;
};

static NormMeans means_of(const NormBackwardArguments& arguments, const float* row, const Normalized& normalized) {
  const int64_t size = arguments.size;
  Vec sums[kNormSums] = {};
  Vec products[kNormSums] = {};
  const auto add = [&](int64_t i, int64_t count, Vec& sum, Vec& product) {
    Vec t = load_row_part(arguments.output_gradient, i, count) * load(arguments.weight + i);
    Vec x = normalized.of(load(row + i));
    if (count < kLanes) {
      const IntVec is_element = lane_numbers() < broadcast(static_cast<int32_t>(count));
      t = select(is_element, t, Vec{});
      x = select(is_element, x, Vec{});
    }
    sum += t;
    product = fma(t, x, product);
  };
  int64_t i = 0;
  for (; i + kNormSums * kLanes <= size; i += kNormSums * kLanes) {
#pragma GCC unroll 4
    for (int v = 0; v < kNormSums; ++v) add(i + v * kLanes, kLanes, sums[v], products[v]);
  }
  for (; i < size; i += kLanes) add(i, smaller(size - i, kLanes), sums[1], products[1]);
  const auto count = static_cast<float>(size);
  return {sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3])) / count,
          sum_of_lanes((products[0] + products[1]) + (products[2] + products[3])) / count};
}

static void norm_backward_row(const NormBackwardArguments* arguments) {
  const int64_t size = arguments->size;
  const StridedRow& input = arguments->input;
  const float* row = contiguous_row(input, size, arguments->scratch);
  const RowMoments moments = moments_of_any(row, size, arguments->kind, arguments->epsilon);
  const Normalized normalized(moments);
  NormMeans means = means_of(*arguments, row, normalized);
  const bool is_finite = means.of_t - means.of_t == 0 && means.of_products - means.of_products == 0;
  const bool adds_nothing = !is_finite && is_zero_row(arguments->output_gradient, size);
  if (arguments->normalized != nullptr) {
    const auto* data = static_cast<const float*>(adds_nothing ? nullptr : input.data);
    *arguments->normalized = {data,
                              static_cast<const float*>(arguments->output_gradient.data),
                              moments.scale,
                              moments.shift,
                              moments.correction,
                              moments.factor};
  }
  if (arguments->input_gradient.data == nullptr) return;
  if (arguments->kind == NormKind::Rms) means.of_t = 0;
  const Vec mean = broadcast(means.of_t);
  const Vec product = broadcast(means.of_products);
  const Vec factor = broadcast(moments.factor * moments.scale);
  for (int64_t i = 0; i < size; i += kLanes) {
    const int64_t count = smaller(size - i, kLanes);
    Vec value{};
    if (!adds_nothing) {
      const Vec t = load_row_part(arguments->output_gradient, i, count) * load(arguments->weight + i);
      value = ((t - mean) - normalized.of(load(row + i)) * product) * factor;
    }
    if (arguments->addend.data != nullptr) value += load_row_part(arguments->addend, i, count);
    store_row_part(arguments->input_gradient, i, count, value);
  }
}

// Columns first .. first + count - 1, at most kNormGradientVectors vectors.
static void norm_gradients(const NormGradientArguments* arguments, int64_t first, int64_t count) {
  constexpr int kVectors = kNormGradientVectors;
  Vec weights[kVectors] = {};
  Vec biases[kVectors] = {};
  const auto for_each_vector = [&](const auto& function) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      if (v * kLanes < count) function(v, first + v * kLanes, smaller(count - v * kLanes, kLanes));
    }
  };
  for_each_vector([&](int v, int64_t i, int64_t num) {
    if (arguments->accumulates_weight != 0) weights[v] = load_row_part(arguments->weight_gradient, i, num);
    if (arguments->accumulates_bias != 0) biases[v] = load_row_part(arguments->bias_gradient, i, num);
  });
  for (int64_t r = 0; r < arguments->num_rows; ++r) {
    const NormalizedRow& row = arguments->rows[r];
    if (row.input == nullptr) continue;
    const Normalized normalized(row);
    const StridedRow input = {const_cast<float*>(row.input), arguments->input_stride, DType::F32};
    const StridedRow gradient = {const_cast<float*>(row.output_gradient), arguments->gradient_stride, DType::F32};
    for_each_vector([&](int v, int64_t i, int64_t num) {
      const Vec g = load_row_part(gradient, i, num);
      weights[v] = fma(g, normalized.of(load_row_part(input, i, num)), weights[v]);
      biases[v] += g;
    });
  }
  for_each_vector([&](int v, int64_t i, int64_t num) {
    if (arguments->weight_gradient.data != nullptr) store_row_part(arguments->weight_gradient, i, num, weights[v]);
    if (arguments->bias_gradient.data != nullptr) store_row_part(arguments->bias_gradient, i, num, biases[v]);
  });
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
