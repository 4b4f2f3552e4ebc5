// SPDX-License-Identifier: Apache-2.0
// The largest difference between the results of an f32 engine and the f64 results (rule 15). Each constant is derived
// in docs/semantics.md, section "The error bound".
#pragma once

#include <cstdint>
#include <optional>

#include "reference/attention.h"
#include "reference/number_format.h"

namespace heed::reference {

// u, the unit round-off of f32.
inline constexpr double kUnitRoundoff = 0x1p-24;

// Twice the largest error of a product or exponential that underflows: the smallest subnormal of f32. In the scope of a
// FlushedSubnormals 2^-124, four times the largest error of an operation whose result is flushed.
double underflow_error();

// The engine takes subnormal numbers as 0, and the reference's inputs have none.
class FlushedSubnormals {
 public:
  FlushedSubnormals();
  FlushedSubnormals(const FlushedSubnormals&) = delete;
  FlushedSubnormals& operator=(const FlushedSubnormals&) = delete;
  ~FlushedSubnormals();
};

// An engine may replace an exponential that is smaller than this, relative to the row's largest, by 0. The row's sum is at
// least 0.9 of its largest exponential.
inline constexpr double kLeastExponential = 0x1p-100;

// If sums of magnitudes are larger, an f32 engine may overflow although the result is finite, so no bound is stated.
inline constexpr double kLargestCovered = 0x1p127;

// Covers the second-order terms in sums of roundings, where (2K + 6N) * u <= 0.01.
inline constexpr double kSecondOrder = 1.01;

// Keys between two updates of the running maximum. With more keys the sums so far are rescaled at most N = ceil(K /
// kKeysPerBlock) times.
inline constexpr int64_t kKeysPerBlock = 256;

// The largest error of an engine's tanh, in units in the last place.
inline constexpr double kTanhUlps = 2.0;

// What the constants of a call depend on.
struct BoundParameters {
  int64_t head_size = 0;
  int64_t num_keys = 0;
  bool has_soft_cap = false;
  bool has_bias = false;
  bool drops = false;
  Scoring scoring = Scoring::DotProduct;
  bool has_sink = false;
  int64_t num_constant_keys = 0;
};

// The constants of rule 15.
struct BoundConstants {
  double c1 = 0;  // exponentials, division, dropout
  double c2 = 0;  // times S: the sum over the head
  double c3 = 0;  // the sums over keys
  double c4 = 0;  // times T: soft cap, bias, difference from the maximum
};

BoundConstants bound_constants(const BoundParameters& parameters);

// What the bound of one row also depends on.
struct RowMagnitudes {
  double terms = 0;   // S: largest abs(scale) * sum of abs(q_d * k_d), or abs(w_d * tanh(q_d + k_d)), of a visible key
  double scores = 0;  // T: largest abs(score + bias) of a visible key, or abs(cap) if that is larger
  double inherited = 0;  // the largest change of a score by inexact queries and keys
  double underflow = 0;  // the largest change of a score by underflow in its terms
};

// x: the relative error of a weight is at most e^x - 1, the absolute error of log_sum_exp at most x + u *
// abs(log_sum_exp).
double row_exponent(const BoundConstants& constants, const RowMagnitudes& row);

// The largest error of a number that was within `error` of `value`, after one operation in f32 and rounding to the
// format; infinite if it may overflow.
double error_after_rounding(Format format, double value, double error);
// The same where an engine may round to a format; without one, `error`.
double error_after_rounding(std::optional<Format> format, double value, double error);

// Whether a backend may return `actual` for a result that is within `error` of `expected` before it is rounded to the
// format. If `expected` is NaN, `actual` must be NaN, or with an infinite error any non-finite number. Any other
// `expected` with an infinite error accepts everything.
bool accepts(Format format, double expected, double error, double actual);

// abs(actual - expected) as a fraction of the allowed difference; 0 for non-finite numbers and infinite errors.
double used_fraction(Format format, double expected, double error, double actual);

}  // namespace heed::reference
