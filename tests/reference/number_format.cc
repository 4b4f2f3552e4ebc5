// SPDX-License-Identifier: Apache-2.0
#include "reference/number_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed::reference {
namespace {

// Bits of the significand (including the implicit one), exponent of the smallest normal number, bits of the exponent
// field.
struct Layout {
  int precision;
  int min_exponent;
  int exponent_bits;

  int stored_bits() const { return precision - 1; }
  int bias() const { return 1 - min_exponent; }
  double max() const { return std::ldexp(2.0 - std::ldexp(1.0, 1 - precision), -min_exponent + 1); }
};

Layout layout_of(Format format) {
  switch (format) {
    case Format::F32: return {24, -126, 8};
    case Format::F16: return {11, -14, 5};
    case Format::BF16: return {8, -126, 8};
  }
  return {};
}

// Numbers near `number` are 2^result apart.
int unit_exponent_at(const Layout& layout, double number) {
  int exponent = 0;
  std::frexp(number, &exponent);  // abs(number) is in [2^(exponent-1), 2^exponent); exponent 0 for 0
  if (number == 0.0) exponent = layout.min_exponent;
  return std::max(exponent - 1, layout.min_exponent) - layout.stored_bits();
}

}  // namespace

double unit_roundoff(Format format) { return std::ldexp(1.0, -layout_of(format).precision); }

double smallest_number(Format format) {
  const Layout layout = layout_of(format);
  return std::ldexp(1.0, layout.min_exponent - layout.stored_bits());
}

double largest_number(Format format) { return layout_of(format).max(); }

double half_unit(Format format, double number) {
  return std::ldexp(1.0, unit_exponent_at(layout_of(format), number) - 1);
}

double round_to(Format format, double number) {
  if (number == 0.0 || !std::isfinite(number)) return number;
  const Layout layout = layout_of(format);
  const int unit_exponent = unit_exponent_at(layout, number);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(number, -unit_exponent)), unit_exponent);
  if (std::fabs(rounded) > layout.max()) return std::copysign(std::numeric_limits<double>::infinity(), number);
  return rounded;
}

double decode_bits(Format format, uint16_t bits) {
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

uint16_t encode_bits(Format format, double number) {
  const Layout layout = layout_of(format);
  const int max_field = (1 << layout.exponent_bits) - 1;
  if (std::isnan(number))
    return static_cast<uint16_t>((max_field << layout.stored_bits()) | 1 << (layout.stored_bits() - 1));
  const int sign = std::signbit(number) ? 0x8000 : 0;
  const double magnitude = std::fabs(round_to(format, number));
  if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | max_field << layout.stored_bits());
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  if (magnitude == 0.0 || exponent - 1 < layout.min_exponent) {
    return static_cast<uint16_t>(sign |
                                 static_cast<int>(std::ldexp(magnitude, layout.stored_bits() - layout.min_exponent)));
  }
  const int significand = static_cast<int>(std::ldexp(magnitude, layout.stored_bits() - (exponent - 1)));
  const int field = exponent - 1 + layout.bias();
  return static_cast<uint16_t>(sign | field << layout.stored_bits() | (significand - (1 << layout.stored_bits())));
}

}  // namespace heed::reference
