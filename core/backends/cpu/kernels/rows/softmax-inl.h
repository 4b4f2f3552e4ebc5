// SPDX-License-Identifier: Apache-2.0
// The softmax of one row. Lanes are adjacent scores. The order of its sums depends only on the length of the row.
#pragma once

#include "backends/cpu/kernels/rows/element_functions-inl.h"
#include "backends/cpu/kernels/rows/rows.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/exp2-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Turns `count` vectors of scores into e^(score - maximum), and adds them to `sums` one after another.
template <int count>
HEED_INLINE void exponentiate_scores(float* scores, Vec maximum, Vec& sums) {
  Vec powers[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) powers[i] = (load(scores + i * kLanes) - maximum) * broadcast(kLog2E);
  exp2_of_nonpositive(powers);
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) {
    store(scores + i * kLanes, powers[i]);
    sums += powers[i];
  }
}

// Weights of the first `length` scores, the only ones that are read; the other weights up to num_keys become 0.
// is_logarithm: their logarithms instead, in which small weights do not become 0. `scratch` has num_keys floats, rounded up to whole vectors. If the maximum is -inf or +inf the row becomes NaN, since
// the difference of two infinities is NaN.
static void softmax_row(const StridedRow* scores, int64_t length, const StridedRow* weights, int64_t num_keys,
                        int32_t is_logarithm, float* scratch) {
  widen_row(static_cast<const char*>(scores->data), scores->dtype, scores->stride, length, scratch);
  // Lanes after the last score must not contribute.
  for (int64_t i = length; i % kLanes != 0; ++i) scratch[i] = -__builtin_inff();

  // A NaN is never greater; it reaches the sum through its exponential.
  Vec maxima = broadcast(-__builtin_inff());
  for (int64_t i = 0; i < length; i += kLanes) maxima = max(load(scratch + i), maxima);
  const Vec maximum = broadcast(maximum_of_lanes(maxima));

  Vec sums{};
  int64_t i = 0;
  if (is_logarithm != 0) {
    for (; i < length; i += kLanes) {
      const Vec difference = load(scratch + i) - maximum;
      sums += Exp::of(difference);
      store(scratch + i, difference);
    }
    const Vec logarithm = Log::of(broadcast(sum_of_lanes(sums)));
    for (i = 0; i < length; i += kLanes) store(scratch + i, load(scratch + i) - logarithm);
    narrow_row(scratch, num_keys, static_cast<char*>(weights->data), weights->dtype, weights->stride);
    return;
  }
  for (; i + 4 * kLanes <= length; i += 4 * kLanes) exponentiate_scores<4>(scratch + i, maximum, sums);
  for (; i < length; i += kLanes) exponentiate_scores<1>(scratch + i, maximum, sums);
  const Vec total = broadcast(sum_of_lanes(sums));
  for (i = 0; i < length; i += kLanes) store(scratch + i, load(scratch + i) / total);
  for (i = length; i < num_keys; ++i) scratch[i] = 0.0f;
  narrow_row(scratch, num_keys, static_cast<char*>(weights->data), weights->dtype, weights->stride);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
