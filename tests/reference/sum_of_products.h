// SPDX-License-Identifier: Apache-2.0
// The result of an f32 engine for a sum of products with non-finite operands or a non-finite sum.
#pragma once

#include <Eigen/Core>

namespace heed::reference {

using ConstArray = Eigen::Ref<const Eigen::ArrayXd>;

enum class Outcome {
  // A finite number; a bound limits its error.
  Finite,
  // The same infinity as in f64, or NaN as in f64.
  SameAsF64,
  // Any result: f32 may overflow in an intermediate result, or an operand is unknown.
  Unknown,
};

// For the sum of terms[i], where terms[i] is a[i] * b[i], or infinite if that is; errors as in Bounded.
// `largest_factor`: f32 may multiply the terms by up to this before it adds them.
Outcome outcome_of_sum(const ConstArray& terms, const ConstArray& a, const ConstArray& a_error, const ConstArray& b,
                       const ConstArray& b_error, double largest_factor = 1.0);

}  // namespace heed::reference
