// SPDX-License-Identifier: Apache-2.0
#include "reference/operations.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error_bound.h"
#include "reference/narrow_bound.h"
#include "reference/sum_of_products.h"

namespace heed::reference {

BoundedNumber sum_of_products(const std::vector<double>& a, const std::vector<double>& b,
                              std::optional<Format> compute_format) {
  const auto size = static_cast<int64_t>(a.size());
  const Bounded read_a = as_read(a, compute_format);
  const Bounded read_b = as_read(b, compute_format);
  const Eigen::Map<const Eigen::ArrayXd> left(a.data(), size);
  const Eigen::Map<const Eigen::ArrayXd> right(b.data(), size);
  const Eigen::Map<const Eigen::ArrayXd> left_error(read_a.errors.data(), size);
  const Eigen::Map<const Eigen::ArrayXd> right_error(read_b.errors.data(), size);
  const Eigen::ArrayXd terms = left * right;
  const double roundings = static_cast<double>(size) * kUnitRoundoff;
  switch (outcome_of_sum(terms, left, left_error, right, right_error)) {
    case Outcome::Unknown: return {0.0, kInfinity};
    case Outcome::SameAsF64: return {terms.sum(), 0.0};
    case Outcome::Finite: break;
  }
  const double inherited = (left_error * right.abs() + (left.abs() + left_error) * right_error).sum();
  const double error = inherited + roundings / (1.0 - roundings) * (terms.abs().sum() + inherited) +
                       static_cast<double>(size) * underflow_error();
  return {terms.sum(), error_after_rounding(compute_format, terms.sum(), error)};
}

Bounded softmax(const std::vector<double>& scores, size_t length, std::optional<Format> compute_format) {
  Bounded weights(scores.size());
  double maximum = -kInfinity;
  // Largest magnitude of the scores, without -infinity, for which every arithmetic gives weight 0.
  double largest = 0.0;
  bool has_nan = false;
  for (size_t k = 0; k < length; ++k) {
    has_nan |= std::isnan(scores[k]);
    maximum = std::max(maximum, scores[k]);
    if (scores[k] != -kInfinity) largest = std::max(largest, std::fabs(scores[k]));
  }
  if (has_nan || !std::isfinite(maximum)) {
    std::fill_n(weights.values.begin(), length, kNaN);
    return weights;
  }
  double total = 0.0;
  for (size_t k = 0; k < length; ++k) total += std::exp(scores[k] - maximum);
  // Errors of the exponentials in numerator and denominator.
  const double exponentials = compute_format ? 2.0 * kNarrowExpRoundoffs : 4.0;
  const double bracket = exponentials + static_cast<double>(length) + 9.0 * largest;
  for (size_t k = 0; k < length; ++k) {
    weights.values[k] = std::exp(scores[k] - maximum) / total;
    if (scores[k] == -kInfinity) continue;
    weights.errors[k] =
        weights.values[k] * std::expm1(kSecondOrder * kUnitRoundoff * bracket) + 2.0 * underflow_error();
  }
  return weights;
}

}  // namespace heed::reference
