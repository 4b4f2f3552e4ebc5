// SPDX-License-Identifier: Apache-2.0
// The exponentials of the softmax over scores, relative to the maximum of a row. Lanes may be rows or keys.
#pragma once

#include <math.h>

#include "backends/cpu/kernels/simd/exp2-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

constexpr float kInfinity = __builtin_inff();

// Whether abs(maximum) > 2^20. The rounding error of maximum * log2(e) would then become a significant factor, up to
// one beyond f32's range. Such rows come from callers who hide keys by a bias of -1e10 or of the lowest float.
HEED_INLINE IntVec is_large(Vec maximum) {
  constexpr float kFar = 0x1p20f;
  return (maximum > broadcast(kFar)) | ((maximum < broadcast(-kFar)) & (maximum != broadcast(-kInfinity)));
}

// The shift: the maximum of a row where is_large(maximum), otherwise 0. It is subtracted from the row's scores.
// Subtracting the maximum in every row would cost one more instruction per score, 1 % of the time at head size 64.
HEED_INLINE Vec shift_of(Vec maximum) { return select(is_large(maximum), maximum, Vec{}); }

// The pivot: the maximum after the shift, times log2(e); so it is 0 in a row with a shift. Probabilities are 2^(score *
// log2(e) - pivot), with the score after the shift. While the maximum is -inf the pivot is 0, because -inf - -inf would
// be NaN where 2^-inf = 0 is needed. The rounding error of the pivot cancels, as all scores of a row have the same
// pivot.
HEED_INLINE Vec pivot_of(Vec maximum) {
  return select(is_large(maximum) | (maximum == broadcast(-kInfinity)), Vec{}, maximum * broadcast(kLog2E));
}

// The factor that rescales sums from the maximum `before` to `maximum`. It is 0 if there have been no scores, and
// exactly 1 if the maximum is unchanged, since it is rounded like the pivot.
HEED_INLINE Vec factor_between(Vec before, Vec maximum) {
  Vec factor[1] = {(before - shift_of(maximum)) * broadcast(kLog2E) - pivot_of(maximum)};
  exp2_without_tiny(factor);
  return factor[0];
}

// Turns scores after the shift into e^(score - maximum), in place. Vector i uses pivots[i % vectors]. Those that are to
// multiply values become 0 where they are tiny.
template <bool multiplies_values, int count, int vectors>
HEED_INLINE void find_probabilities(Vec (&scores)[count], const Vec (&pivots)[vectors]) {
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) scores[i] = fma(scores[i], broadcast(kLog2E), -pivots[i % vectors]);
  if constexpr (multiplies_values)
    exp2_without_tiny(scores);
  else
    exp2_of_nonpositive(scores);
}

// Exponentiates `count` vectors of a row's scores, and adds them to the total.
template <int count>
HEED_INLINE void exponentiate_vectors(float* scores, const Vec (&pivots)[1], Vec& total) {
  Vec probabilities[count];
#pragma GCC unroll 4
  for (int64_t i = 0; i < count; ++i) probabilities[i] = load(scores + i * kLanes);
  find_probabilities<true>(probabilities, pivots);
#pragma GCC unroll 4
  for (int64_t i = 0; i < count; ++i) {
    total += probabilities[i];
    store(scores + i * kLanes, probabilities[i]);
  }
}

// The probability of a score relative to the row's maximum.
HEED_INLINE Vec probability_of(Vec score, Vec maximum) {
  const Vec pivots[1] = {pivot_of(maximum)};
  Vec probability[1] = {score - shift_of(maximum)};
  find_probabilities<false>(probability, pivots);
  return probability[0];
}

// The logarithm of the sum of e^score, with the pivot and the shift of the maximum. It is computed in double from the
// rounded pivot, so that its only error is that of the total; for a single exact score the result is exact.
HEED_INLINE float log_sum_exp_of(float pivot, float shift, float total) {
  const double maximum = static_cast<double>(pivot) / static_cast<double>(kLog2E) + static_cast<double>(shift);
  return static_cast<float>(maximum + log(static_cast<double>(total)));
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
