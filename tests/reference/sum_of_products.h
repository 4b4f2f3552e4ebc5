// SPDX-License-Identifier: Apache-2.0
// What f32 must make of a sum of products that is not finite in f64, or has numbers that are not finite in it.
#pragma once

#include <Eigen/Core>

namespace heed::reference {

using ConstArray = Eigen::Ref<const Eigen::ArrayXd>;

enum class Outcome {
  // A number, whose distance from f64's is for a bound to say.
  Finite,
  // f64's infinity or NaN.
  SameAsF64,
  // Anything: f32 may overflow on the way, or an operand is itself anything.
  Unknown,
};

// Of a sum of terms[i], which is a[i] * b[i] or is infinite where that is; errors as in Bounded. `largest_factor`: what f32 may multiply
// the terms with before it adds them.
Outcome outcome_of_sum(const ConstArray& terms, const ConstArray& a, const ConstArray& a_error, const ConstArray& b,
                       const ConstArray& b_error, double largest_factor = 1.0);

}  // namespace heed::reference
