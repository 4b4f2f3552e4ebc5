// SPDX-License-Identifier: Apache-2.0
// The norm of one row. Lanes are adjacent elements. The order of its sums depends only on the size of the row.
#pragma once

#include "backends/cpu/kernels/attention/row_parts-inl.h"
#include "backends/cpu/kernels/rows/rows.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Sums that advance together: an addition takes some cycles, and shorter chains round less.
constexpr int kNormSums = 4;

// What a row's elements are normalized by: element -> ((element * scale - shift) - correction) * factor.
struct RowMoments {
  float scale;
  float shift;
  float correction;
  float factor;
  bool is_finite;
};

// The sum over all vectors of the row of of_vector(vector, index of its first element).
template <typename OfVector>
HEED_INLINE float sum_of_row(const float* row, int64_t size, const OfVector& of_vector) {
  Vec sums[kNormSums] = {};
  int64_t i = 0;
  for (; i + kNormSums * kLanes <= size; i += kNormSums * kLanes) {
#pragma GCC unroll 4
    for (int v = 0; v < kNormSums; ++v) sums[v] += of_vector(load(row + i + v * kLanes));
  }
  for (; i + kLanes <= size; i += kLanes) sums[0] += of_vector(load(row + i));
  if (i < size) {
    const IntVec is_element = lane_numbers() < broadcast(static_cast<int32_t>(size - i));
    sums[1] += select(is_element, of_vector(load(row + i)), Vec{});
  }
  return sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// The mean, rounded to f32, is off by up to some units of the numbers, which may be more than these differ by. So the
// differences from it are summed too, and their mean corrects it. `row` has whole vectors; epsilon is added to the variance
// of the scaled numbers.
static RowMoments moments_of(const float* row, int64_t size, NormKind kind, float epsilon, float scale) {
  const auto count = static_cast<float>(size);
  const Vec scales = broadcast(scale);
  RowMoments moments = {scale, 0, 0, 0, false};
  if (kind == NormKind::Layer) {
    moments.shift = sum_of_row(row, size, [=](Vec x) { return x * scales; }) / count;
    const Vec shift = broadcast(moments.shift);
    moments.correction = sum_of_row(row, size, [=](Vec x) { return x * scales - shift; }) / count;
  }
  const Vec shift = broadcast(moments.shift);
  const Vec correction = broadcast(moments.correction);
  const float variance = sum_of_row(row, size,
                                    [=](Vec x) {
                                      const Vec difference = (x * scales - shift) - correction;
                                      return difference * difference;
                                    }) /
                         count;
  moments.factor = 1.0f / __builtin_sqrtf(variance + epsilon);
  moments.is_finite = variance < __builtin_inff();
  return moments;
}

// Squares of numbers above 2^64 overflow, and so may their sums. Such a row is scaled first. Its epsilon would be 0: then a
// row of equal numbers would be divided by 0. The least normal number is as good, since it is far below the square of the
// smallest difference in any other such row.
constexpr float kScaleOfLarge = 0x1p-80f;
constexpr float kLeastEpsilonOfLarge = 0x1p-126f;

// Of numbers of any magnitude.
static RowMoments moments_of_any(const float* row, int64_t size, NormKind kind, float epsilon) {
  const RowMoments moments = moments_of(row, size, kind, epsilon, 1.0f);
  if (moments.is_finite) return moments;
  const float scaled = epsilon * kScaleOfLarge * kScaleOfLarge;
  return moments_of(row, size, kind, scaled > kLeastEpsilonOfLarge ? scaled : kLeastEpsilonOfLarge, kScaleOfLarge);
}

// The row in whole vectors of f32: in place, or copied to `scratch`.
static const float* contiguous_row(const StridedRow& row, int64_t size, float* scratch) {
  if (row.dtype == DType::F32 && row.stride == 1 && size % kLanes == 0) return static_cast<const float*>(row.data);
  widen_row(static_cast<const char*>(row.data), row.dtype, row.stride, size, scratch);
  return scratch;
}

static void norm_row(const NormArguments* arguments) {
  const int64_t size = arguments->size;
  const float* row = contiguous_row(arguments->input, size, arguments->scratch);
  const RowMoments moments = moments_of_any(row, size, arguments->kind, arguments->epsilon);
  const Vec scale = broadcast(moments.scale);
  const Vec shift = broadcast(moments.shift);
  const Vec correction = broadcast(moments.correction);
  const Vec factor = broadcast(moments.factor);
  for (int64_t i = 0; i < size; i += kLanes) {
    const int64_t count = smaller(size - i, kLanes);
    Vec value = ((load(row + i) * scale - shift) - correction) * factor * load(arguments->weight + i);
    if (arguments->bias != nullptr) value += load(arguments->bias + i);
    if (arguments->addend.data != nullptr) value += load_row_part(arguments->addend, i, count);
    store_row_part(arguments->output, i, count, value);
  }
}

// output[i] = input[i] * scale + addend[i]
static void scale_row(const StridedRow* input, const StridedRow* addend, const StridedRow* output, int64_t count,
                      float scale) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t part = smaller(count - i, kLanes);
    Vec value = load_row_part(*input, i, part) * broadcast(scale);
    if (addend->data != nullptr) value += load_row_part(*addend, i, part);
    store_row_part(*output, i, part, value);
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
