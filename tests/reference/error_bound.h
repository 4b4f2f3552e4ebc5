// SPDX-License-Identifier: Apache-2.0
// How far an f32 engine may be from the f64 answer (rule 15). Each constant is derived in docs/semantics.md, section
// "The error bound".
#pragma once

#include <cstdint>

#include "reference/attention.h"
#include "reference/number_format.h"

namespace heed::reference {

// u: the unit round-off of f32.
inline constexpr double kUnitRoundoff = 0x1p-24;

// The smallest subnormal of f32: twice the largest error of a product or an exponential that underflows.
inline constexpr double kSmallestF32 = 0x1p-149;

// Where sums of magnitudes pass this, an f32 engine may overflow on the way to a finite answer, and no bound is stated.
inline constexpr double kLargestCovered = 0x1p127;

// Covers the terms of second order that sums of roundings leave behind, where (2K + 6N) * u <= 0.01.
inline constexpr double kSecondOrder = 1.01;

// Keys between two updates of the running maximum; with more keys, N = ceil(K / kKeysPerBlock) rescales at most come
// upon what was summed before.
inline constexpr int64_t kKeysPerBlock = 256;

// Units in the last place by which an engine's tanh may be off.
inline constexpr double kTanhUlps = 2.0;

// What the constants of one call depend on.
struct BoundParameters {
  int64_t head_size = 0;
  int64_t num_keys = 0;
  bool has_soft_cap = false;
  bool has_bias = false;
  bool drops = false;
  Scoring scoring = Scoring::DotProduct;
};

// The constants of rule 15.
struct BoundConstants {
  double c1 = 0;  // exponentials, division, dropout
  double c2 = 0;  // times S: the sum over the head
  double c3 = 0;  // the sums over keys
  double c4 = 0;  // times T: soft cap, bias, difference from the maximum
};

BoundConstants bound_constants(const BoundParameters& parameters);

// What the bound of one row depends on besides.
struct RowMagnitudes {
  double terms = 0;   // S: largest abs(scale) * sum of abs(q_d * k_d), or abs(w_d * tanh(q_d + k_d)), of a visible key
  double scores = 0;  // T: largest abs(score + bias) of a visible key, and abs(cap)
  double inherited = 0;  // how far inexact queries and keys move a score, at most
  double underflow = 0;  // how far underflow in the terms of its sum moves a score, at most
};

// x: the relative error of a weight is at most e^x - 1, the absolute one of log_sum_exp x + u * abs(log_sum_exp).
double row_exponent(const BoundConstants& constants, const RowMagnitudes& row);

// How far a number that was within `error` of `value` may be after one operation in f32 and rounding to the format;
// infinite where it may overflow.
double error_after_rounding(Format format, double value, double error);

// Whether a backend may return `actual` for a result whose value is within `error` of `expected`, rounded to the
// format. An expected NaN asks for NaN, with an infinite error for anything that is not finite; of anything else with
// an infinite error nothing is asked.
bool accepts(Format format, double expected, double error, double actual);

// abs(actual - expected) as a fraction of what is allowed; 0 where that is not a question of accuracy.
double used_fraction(Format format, double expected, double error, double actual);

}  // namespace heed::reference
