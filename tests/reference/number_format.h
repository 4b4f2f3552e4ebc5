// SPDX-License-Identifier: Apache-2.0
// The three float formats of inputs and outputs, defined by a few constants, and rounding to them in f64 arithmetic.
#pragma once

#include <cstdint>
#include <limits>

namespace heed::reference {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

enum class Format { F32, F16, BF16 };

// The unit round-off: the largest relative error of rounding to the nearest normal number.
double unit_roundoff(Format format);

// The smallest positive subnormal number.
double smallest_number(Format format);

// The largest finite number.
double largest_number(Format format);

// Rounds to the nearest number of the format, ties to even, with overflow to infinity and gradual underflow.
double round_to(Format format, double number);

// The largest rounding error of a number near `number`: half the distance between neighbours.
double half_unit(Format format, double number);

// The number that a bit pattern represents. F16 and BF16 only.
double decode_bits(Format format, uint16_t bits);

// The bit pattern of round_to(format, number). F16 and BF16 only.
uint16_t encode_bits(Format format, double number);

}  // namespace heed::reference
