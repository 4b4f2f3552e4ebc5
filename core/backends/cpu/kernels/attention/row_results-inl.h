// SPDX-License-Identifier: Apache-2.0
// The result of some keys of a row, in memory, and how the results of several parts of its keys become one. The kernels
// compute such results for chunks or blocks of keys, so that several threads may compute one row.
#pragma once

#include "backends/cpu/kernels/attention/exponentials-inl.h"
#include "backends/cpu/kernels/attention/merge-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "ops/attention.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// A result: the sums of the weighted values, [width] with width = row_stride(value_head_size), then these numbers, in a
// vector of their own.
enum : int64_t {
  kMaximum = 0,  // of the scores
  kTotal = 1,    // the sum of e^(score - maximum)
  kSeesAny = 2,  // 1 if the row sees a key, else 0
  kFactor = 3,   // by which the sums are multiplied when the result is merged
};

HEED_INLINE int64_t row_result_floats(const AttentionProblem& problem) {
  return row_stride(problem.value_head_size) + larger(kLanes, 4);
}

// The result of no keys.
static void clear_result(float* result, int64_t width) {
  for (int64_t d = 0; d < width; d += kLanes) store(result + d, Vec{});
  result[width + kMaximum] = -kInfinity;
  result[width + kTotal] = 0.0f;
  result[width + kSeesAny] = 0.0f;
}

// The maximum of `maximum` and those of the results part(0) .. part(count - 1). A NaN is never greater.
template <typename Part>
HEED_INLINE float maximum_of_results(int64_t count, const Part& part, int64_t width, float maximum) {
  for (int64_t n = 0; n < count; ++n) {
    const float of_part = part(n)[width + kMaximum];
    maximum = of_part > maximum ? of_part : maximum;
  }
  return maximum;
}

// Merges the results of parts of a row's keys, part(0) .. part(count - 1), in their order, relative to `maximum`, in place
// of part(0). `total`: that of keys before them which are in no part.
template <typename Part>
HEED_INLINE void merge_results(int64_t count, const Part& part, int64_t width, float maximum, Vec total) {
  float sees_any = 0.0f;
  for (int64_t n = 0; n < count; ++n) {
    float* numbers = part(n) + width;
    const Vec factor = factor_between(broadcast(numbers[kMaximum]), broadcast(maximum));
    total = fma(broadcast(numbers[kTotal]), factor, total);
    sees_any = numbers[kSeesAny] > sees_any ? numbers[kSeesAny] : sees_any;
    numbers[kFactor] = factor[0];
  }
  for (int64_t d = 0; d < width; d += kLanes) {
    const Vec sum = weighted_sum(
        count, [&](int64_t n) __attribute__((always_inline)) { return part(n)[width + kFactor]; },
        [&](int64_t n) __attribute__((always_inline)) { return load(part(n) + d); });
    store(part(0) + d, sum);
  }
  float* merged = part(0) + width;
  merged[kMaximum] = maximum;
  merged[kTotal] = total[0];
  merged[kSeesAny] = sees_any;
}

// Merges the result of later keys of a row into that of earlier ones. A later result of keys that
// are all hidden is left out: its sums may be NaN, from hidden values that are not finite.
static void merge_later_result(float* earlier, float* later, int64_t width) {
  if (later[width + kSeesAny] == 0.0f) return;
  const auto part = [&](int64_t n) __attribute__((always_inline)) { return n == 0 ? earlier : later; };
  merge_results(2, part, width, maximum_of_results(2, part, width, -kInfinity), Vec{});
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
