// SPDX-License-Identifier: Apache-2.0
#include "reference/number_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace heed::reference {
namespace {

// 2^exponent, for the exponents of normal doubles. The tests round many millions of numbers, for which ldexp and frexp take most of the
// time.
double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

// Bits of the significand (including the implicit one), exponent of the smallest normal number, bits of the exponent
// field.
struct Layout {
  int precision;
  int min_exponent;
  int exponent_bits;

  int stored_bits() const { return precision - 1; }
  int bias() const { return 1 - min_exponent; }
  double max() const { return (2.0 - power_of_two(1 - precision)) * power_of_two(1 - min_exponent); }
};

Layout layout_of(Format format) {
  switch (format) {
    case Format::F32: return {24, -126, 8};
    case Format::F16: return {11, -14, 5};
    case Format::BF16: return {8, -126, 8};
  }
  return {};
}

// abs(number) is in [2^result, 2^(result+1)); -1023 for 0 and subnormal doubles, which are smaller than the numbers of each format.
int exponent_of(double number) { return static_cast<int>(std::bit_cast<uint64_t>(number) >> 52 & 0x7FF) - 1023; }

// Numbers near `number` are 2^result apart.
int unit_exponent_at(const Layout& layout, double number) {
  return std::max(exponent_of(number), layout.min_exponent) - layout.stored_bits();
}

}  // namespace

double unit_roundoff(Format format) { return power_of_two(-layout_of(format).precision); }

double smallest_number(Format format) {
  const Layout layout = layout_of(format);
  return power_of_two(layout.min_exponent - layout.stored_bits());
}

double largest_number(Format format) { return layout_of(format).max(); }

double half_unit(Format format, double number) { return power_of_two(unit_exponent_at(layout_of(format), number) - 1); }

double round_to(Format format, double number) {
  if (number == 0.0 || !std::isfinite(number)) return number;
  const Layout layout = layout_of(format);
  const double largest = layout.max();
  if (std::fabs(number) > 2.0 * largest) return std::copysign(std::numeric_limits<double>::infinity(), number);
  // Doubles between 2^52 and 2^53 units are one unit apart, so the sum rounds to whole units, ties to even.
  const double offset = 0x1.8p52 * power_of_two(unit_exponent_at(layout, number));
  const double rounded = (number + offset) - offset;
  if (std::fabs(rounded) > largest) return std::copysign(std::numeric_limits<double>::infinity(), number);
  return std::copysign(rounded, number);
}

namespace {

double decode_by_fields(Format format, uint16_t bits) {
  const Layout layout = layout_of(format);
  const int max_field = (1 << layout.exponent_bits) - 1;
  const int field = (bits >> layout.stored_bits()) & max_field;
  const int fraction = bits & ((1 << layout.stored_bits()) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (field == max_field) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  if (field == 0) return sign * std::ldexp(fraction, layout.min_exponent - layout.stored_bits());
  return sign * std::ldexp(fraction + (1 << layout.stored_bits()), field - layout.bias() - layout.stored_bits());
}

// The number of each of the 65536 bit patterns.
std::vector<double> decoded_patterns(Format format) {
  std::vector<double> numbers(size_t{1} << 16);
  for (size_t bits = 0; bits < numbers.size(); ++bits) {
    numbers[bits] = decode_by_fields(format, static_cast<uint16_t>(bits));
  }
  return numbers;
}

}  // namespace

double decode_bits(Format format, uint16_t bits) {
  static const std::vector<double> f16 = decoded_patterns(Format::F16);
  static const std::vector<double> bf16 = decoded_patterns(Format::BF16);
  return (format == Format::F16 ? f16 : bf16)[bits];
}

uint16_t encode_bits(Format format, double number) {
  const Layout layout = layout_of(format);
  const int max_field = (1 << layout.exponent_bits) - 1;
  if (std::isnan(number))
    return static_cast<uint16_t>((max_field << layout.stored_bits()) | 1 << (layout.stored_bits() - 1));
  const int sign = std::signbit(number) ? 0x8000 : 0;
  const double magnitude = std::fabs(round_to(format, number));
  if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | max_field << layout.stored_bits());
  const int exponent = exponent_of(magnitude);
  if (exponent < layout.min_exponent) {
    return static_cast<uint16_t>(
        sign | static_cast<int>(magnitude * power_of_two(layout.stored_bits() - layout.min_exponent)));
  }
  const int significand = static_cast<int>(magnitude * power_of_two(layout.stored_bits() - exponent));
  const int field = exponent + layout.bias();
  return static_cast<uint16_t>(sign | field << layout.stored_bits() | (significand - (1 << layout.stored_bits())));
}

}  // namespace heed::reference
