// SPDX-License-Identifier: Apache-2.0
#include "reference/positional_encoding.h"

#include <cmath>

#include "reference/error_bound.h"

namespace heed::reference {

BoundedNumber sinusoid(Sinusoids kind, int64_t size, int64_t position, int64_t d) {
  constexpr double kF64Roundoff = 0x1p-53;
  const int64_t half = size / 2;
  const bool is_in_turn = kind == Sinusoids::InTurn;
  const auto i = static_cast<double>(is_in_turn ? d / 2 : d % half);
  const bool is_sine = is_in_turn ? d % 2 == 0 : d < half;
  const double exponent =
      kind == Sinusoids::Halves ? i / (static_cast<double>(half) - 1.0) : 2.0 * i / static_cast<double>(size);
  const double logarithm = exponent * std::log(10000.0);
  const double angle = static_cast<double>(position) * std::exp(-logarithm);
  // As the angles of rotary positions, with the sine's own error.
  const double error = kF64Roundoff * (angle * (8.0 + 3.0 * logarithm) + 4.0);
  const double value = is_sine ? std::sin(angle) : std::cos(angle);
  return {value, error + kUnitRoundoff * (std::fabs(value) + error)};
}

BoundedNumber encoded(const BoundedNumber& row, double input, double dropout) {
  const double sum = row.value + input;
  double error = row.error + kUnitRoundoff * (std::fabs(sum) + row.error);
  if (dropout == 0.0) return {sum, error};
  // 1 / (1 - p) rounded, and the product with it.
  const double kept = 1.0 / (1.0 - dropout);
  error = kept * (error + kSecondOrder * 2.0 * kUnitRoundoff * (std::fabs(sum) + error));
  return {kept * sum, error};
}

}  // namespace heed::reference
