// SPDX-License-Identifier: Apache-2.0
#include "reference/sum_of_products.h"

#include <cmath>

#include "reference/error_bound.h"

namespace heed::reference {

Outcome outcome_of_sum(const ConstArray& terms, const ConstArray& a, const ConstArray& a_error, const ConstArray& b,
                       const ConstArray& b_error, double largest_factor) {
  // The usual case: a sum of magnitudes is finite only if all of its terms are.
  const double terms_and_errors = terms.abs().sum() + a_error.sum() + b_error.sum();
  if (std::isfinite(terms_and_errors) && terms_and_errors * largest_factor <= kLargestCovered) return Outcome::Finite;
  if (!a_error.isFinite().all() || !b_error.isFinite().all()) return Outcome::Unknown;
  if (a.isNaN().any() || b.isNaN().any()) return Outcome::SameAsF64;
  // If finite terms overflow, they are infinite, and an infinite term of the other sign makes the sum NaN.
  const double magnitude = terms.isFinite().select(terms.abs(), 0.0).sum();
  if (magnitude * largest_factor > kLargestCovered) return Outcome::Unknown;
  if (terms.isFinite().all()) return Outcome::Finite;
  // The error bound leaves the sign of the number open, and so the sign of its product with an infinity.
  const auto may_change_sign = [](const ConstArray& number, const ConstArray& error) {
    return error > 0.0 && number.abs() <= error;
  };
  const bool has_open_sign =
      (a.isInf() && may_change_sign(b, b_error)).any() || (b.isInf() && may_change_sign(a, a_error)).any();
  return has_open_sign ? Outcome::Unknown : Outcome::SameAsF64;
}

}  // namespace heed::reference
