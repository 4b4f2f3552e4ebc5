// SPDX-License-Identifier: Apache-2.0
#include "reference/error_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed::reference {

namespace {

constexpr double kKept = 0x1p-149;
constexpr double kFlushed = 0x1p-124;

double error_in_force = kKept;

}  // namespace

double underflow_error() { return error_in_force; }

FlushedSubnormals::FlushedSubnormals() { error_in_force = kFlushed; }

FlushedSubnormals::~FlushedSubnormals() { error_in_force = kKept; }

BoundConstants bound_constants(const BoundParameters& parameters) {
  const auto keys = static_cast<double>(parameters.num_keys);
  // Rescales between blocks; where the keys are split into chunks, one more. Sink and constant keys come before the first
  // block, so that this one may raise the maximum too.
  const bool has_scores_before = parameters.has_sink || parameters.num_constant_keys > 0;
  const bool is_one_block = parameters.num_keys <= kKeysPerBlock && !has_scores_before;
  const double rescales = is_one_block ? 0.0 : std::ceil(keys / static_cast<double>(kKeysPerBlock));
  BoundConstants constants;
  constants.c1 = 6.0 + (parameters.drops ? 1.0 : 0.0);
  // For each term: the rounding of query + key, and the error of tanh. A unit in the last place is twice the unit
  // round-off.
  const double tanh_error = parameters.scoring == Scoring::Additive ? 1.0 + 2.0 * kTanhUlps : 0.0;
  constants.c2 = 2.0 * (static_cast<double>(parameters.head_size) + 2.0 + tanh_error);
  constants.c3 = 2.0 * (keys + static_cast<double>(parameters.num_constant_keys)) + 6.0 * rescales;
  constants.c4 = 6.5 + (parameters.has_soft_cap ? 14.0 : 0.0) + (parameters.has_bias ? 2.0 : 0.0);
  return constants;
}

double row_exponent(const BoundConstants& constants, const RowMagnitudes& row) {
  const double terms = row.terms + row.inherited;
  const double bracket = constants.c1 + constants.c2 * terms + constants.c3 + constants.c4 * row.scores;
  return kSecondOrder * (kUnitRoundoff * bracket + 2.0 * row.inherited + 2.0 * row.underflow);
}

double error_after_rounding(Format format, double value, double error) {
  const double roundoff = unit_roundoff(format) + 2.0 * kUnitRoundoff;
  const double total = error + roundoff * (std::fabs(value) + error) + smallest_number(format) / 2.0;
  return std::fabs(value) + total <= largest_number(format) ? total : std::numeric_limits<double>::infinity();
}

double error_after_rounding(std::optional<Format> format, double value, double error) {
  return format ? error_after_rounding(*format, value, error) : error;
}

bool accepts(Format format, double expected, double error, double actual) {
  if (std::isnan(expected)) return std::isinf(error) ? !std::isfinite(actual) : std::isnan(actual);
  if (!std::isfinite(error)) return true;
  if (std::isinf(expected)) return actual == expected;
  // Rounding is monotonic: a number in an interval is rounded to a number between the roundings of its ends.
  return actual >= round_to(format, expected - error) && actual <= round_to(format, expected + error);
}

double used_fraction(Format format, double expected, double error, double actual) {
  if (!std::isfinite(expected) || !std::isfinite(error) || !std::isfinite(actual)) return 0.0;
  return std::fabs(actual - expected) / (error + half_unit(format, std::fabs(expected) + error));
}

}  // namespace heed::reference
