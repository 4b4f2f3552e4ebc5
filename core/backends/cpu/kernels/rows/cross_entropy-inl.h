// SPDX-License-Identifier: Apache-2.0
// The sums of the cross-entropy of one row, and its gradient. Lanes are adjacent classes.
#pragma once

#include "backends/cpu/kernels/rows/element_functions-inl.h"
#include "backends/cpu/kernels/rows/rows.h"
#include "backends/cpu/kernels/simd/double_functions-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// The lanes of a sum in f64.
struct DoubleSums {
  Doubles sums = {};

  HEED_INLINE_MEMBER void add(Vec x) {
    const Doubles wide = widen(x);
    sums.halves[0] += wide.halves[0];
    sums.halves[1] += wide.halves[1];
  }
  HEED_INLINE_MEMBER double total() const {
    const DoubleVec both = sums.halves[0] + sums.halves[1];
    double result = 0;
    for (int lane = 0; lane < kLanes / 2; ++lane) result += both[lane];
    return result;
  }
};

// Sets the sums of a row, and writes e^(logit - maximum) to `powers` unless it is null. A row with +inf or NaN, or with -inf alone,
// has a sum of NaN. Floats are added in f32 only within kBlock vectors, so that rows of any length have small errors.
static void sum_powers(CrossEntropyRow* row) {
  constexpr int64_t kBlock = 16;
  const float* const logits = row->logits;
  const int64_t count = row->count;
  const Vec lowest = broadcast(-__builtin_inff());
  // Lanes after the last logit do not contribute.
  const auto load_last = [&](int64_t i) {
    return select(lane_numbers() < broadcast(static_cast<int32_t>(count - i)), load_first(logits + i, count - i),
                  lowest);
  };
  const int64_t whole = count / kLanes * kLanes;

  // A NaN is never greater; it reaches the sum through its exponential.
  Vec maxima = lowest;
  for (int64_t i = 0; i < whole; i += kLanes) maxima = max(load(logits + i), maxima);
  if (whole < count) maxima = max(load_last(whole), maxima);
  row->maximum = maximum_of_lanes(maxima);
  const Vec maximum = broadcast(row->maximum);

  if (row->sums_logits != 0) {
    DoubleSums sum;
    for (int64_t i = 0; i < whole; i += kLanes) sum.add(load(logits + i));
    if (whole < count) sum.add(load_first(logits + whole, count - whole));
    row->sum_of_logits = sum.total();
  }

  DoubleSums sum;
  for (int64_t i = 0; i < whole;) {
    const int64_t end = smaller(whole, i + kBlock * kLanes);
    Vec block{};
    for (; i < end; i += kLanes) {
      const Vec power = Exp::of(load(logits + i) - maximum);
      if (row->powers != nullptr) store(row->powers + i, power);
      block += power;
    }
    sum.add(block);
  }
  if (whole < count) {
    const Vec power = Exp::of(load_last(whole) - maximum);
    if (row->powers != nullptr) store_first(row->powers + whole, power, count - whole);
    // The lanes after the last are 0, unless the maximum is -inf: then the sum is NaN already.
    sum.add(power);
  }
  row->sum_of_powers = sum.total();
}

// values[i] = values[i] * factor - subtrahend
static void scale_and_subtract(float* values, int64_t count, float factor, float subtrahend) {
  const Vec factors = broadcast(factor);
  const Vec subtrahends = broadcast(subtrahend);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(values + i, load(values + i) * factors - subtrahends);
  if (i < count) store_first(values + i, load_first(values + i, count - i) * factors - subtrahends, count - i);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
