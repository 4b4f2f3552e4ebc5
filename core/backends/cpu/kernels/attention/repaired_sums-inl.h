// SPDX-License-Identifier: Apache-2.0
// Sums of weighted values that are not finite although their total is. Such sums may be wrong for two reasons, and each has
// a remedy:
//
//   The weight of a hidden value is 0, and 0 times a value that is not finite is NaN. Then only the values that the row
//   sees are added, with otherwise the same arithmetic: if all values are finite, the sums are bitwise the same.
//
//   Large values overflow a sum that the division by the total would have made finite. Then the weights are divided by the
//   total first, so that they add up to one and no sum exceeds the largest value.
//
// Every kernel asks whether sums may be wrong (find_doubtful), takes the first remedy, asks again, and takes the second. What
// is summed again, and in which memory, is its own.
#pragma once

#include "backends/cpu/kernels/attention/exponentials-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// 0 times the sum of `count` vectors that are `step` floats apart: NaN in lanes where one of them is not finite. Four
// chains, since each FMA waits for the one before.
HEED_INLINE Vec zero_times(const float* sums, int64_t count, int64_t step) {
  Vec zeros[4] = {};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
#pragma GCC unroll 4
    for (int chain = 0; chain < 4; ++chain) zeros[chain] = fma(load(sums + (i + chain) * step), Vec{}, zeros[chain]);
  }
  for (; i < count; ++i) zeros[0] = fma(load(sums + i * step), Vec{}, zeros[0]);
  return (zeros[0] + zeros[1]) + (zeros[2] + zeros[3]);
}

HEED_INLINE IntVec is_nan(Vec value) { return value != value; }
HEED_INLINE IntVec is_finite(Vec value) { return value - value == Vec{}; }

// The weight of a score: the weights of a row add up to one.
HEED_INLINE Vec weight_of(Vec score, Vec maximum, Vec total) { return probability_of(score, maximum) / total; }

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
