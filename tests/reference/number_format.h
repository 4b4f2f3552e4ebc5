// SPDX-License-Identifier: Apache-2.0
// The three float formats of inputs and outputs, described by their constants and rounded to in f64 arithmetic.
#pragma once

#include <cstdint>
#include <limits>

namespace heed::reference {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

enum class Format { F32, F16, BF16 };

// The unit round-off: the largest relative error of rounding to the nearest normal number.
double unit_roundoff(Format format);

// The smallest positive number, a subnormal one.
double smallest_number(Format format);

// The largest finite number.
double largest_number(Format format);

// Nearest number of the format, ties to even; overflow gives an infinity, small numbers keep the format's subnormals.
double round_to(Format format, double number);

// Half the distance between the format's numbers around `number`: the largest error of rounding it.
double half_unit(Format format, double number);

// The number that a 16-bit pattern stands for. F16 and BF16 only.
double decode_bits(Format format, uint16_t bits);

// The pattern of round_to(format, number). F16 and BF16 only.
uint16_t encode_bits(Format format, double number);

}  // namespace heed::reference
