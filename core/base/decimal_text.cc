// SPDX-License-Identifier: Apache-2.0
#include "base/decimal_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/terms.h"

namespace heed {
namespace {

constexpr int kMaxDigits = 17;

// The parts of a number, mantissa * 2^exponent if it is finite. They are taken from its bits: if the host has set the
// processor to take subnormal numbers as 0, they still have their text.
struct Binary {
  bool is_negative = false;
  bool is_finite = false;
  // Whether the next smaller number is half as far as the next larger one.
  bool begins_power = false;
  uint64_t mantissa = 0;
  int exponent = 0;
};

template <typename Float, typename Bits>
Binary parts_of(Float value) {
  constexpr int kStoredBits = std::numeric_limits<Float>::digits - 1;
  constexpr Bits kOne = Bits{1} << kStoredBits;
  constexpr int kLargestField = 2 * std::numeric_limits<Float>::max_exponent - 1;
  const auto bits = std::bit_cast<Bits>(value);
  const auto field = static_cast<int>(bits >> kStoredBits & kLargestField);
  Binary parts;
  parts.is_negative = bits >> (8 * sizeof(Bits) - 1) != 0;
  parts.is_finite = field != kLargestField;
  parts.mantissa = bits & (kOne - 1);
  parts.begins_power = parts.mantissa == 0 && field > 1;
  if (field > 0) parts.mantissa |= kOne;
  parts.exponent = std::max(field, 1) + std::numeric_limits<Float>::min_exponent - 2 - kStoredBits;
  if (!parts.is_finite) parts.mantissa &= kOne - 1;
  return parts;
}

// A positive decimal number 0.d1d2d3... * 10^point whose first digit is not 0. Digits after the last one are 0.
template <int capacity>
struct Decimal {
  std::array<char, capacity> digits{};
  int num_digits = 0;
  int point = 0;

  char digit(int i) const { return i < num_digits ? digits[static_cast<size_t>(i)] : '0'; }
};

// The largest number of digits of a double is that of the largest subnormal one, 767.
using ExactDecimal = Decimal<800>;
using ShortDecimal = Decimal<kMaxDigits>;

template <int capacity>
void drop_zeros_at_end(Decimal<capacity>& decimal) {
  while (decimal.num_digits > 1 && decimal.digit(decimal.num_digits - 1) == '0') --decimal.num_digits;
}

// All digits of mantissa * 2^exponent, which is not 0. A negative power of 2 is one of 5 by one of 10: 2^-n = 5^n / 10^n. So the
// digits are those of a large integer.
ExactDecimal exact_decimal(uint64_t mantissa, int exponent) {
  constexpr uint32_t kBase = 1'000'000'000;
  for (; mantissa % 2 == 0; mantissa /= 2) ++exponent;

  // The integer in base 10^9, the lowest part first.
  std::array<uint32_t, 88> parts{};
  size_t num_parts = 0;
  for (; mantissa > 0; mantissa /= kBase) parts[num_parts++] = static_cast<uint32_t>(mantissa % kBase);
  // Twelve factors at once: 5^12 is below the base.
  for (int left = std::abs(exponent); left > 0; left -= 12) {
    uint32_t factor = 1;
    for (int i = 0; i < std::min(left, 12); ++i) factor *= exponent < 0 ? 5 : 2;
    uint32_t carry = 0;
    for (size_t part = 0; part < num_parts; ++part) {
      const uint64_t product = uint64_t{parts[part]} * factor + carry;
      parts[part] = static_cast<uint32_t>(product % kBase);
      carry = static_cast<uint32_t>(product / kBase);
    }
    if (carry > 0) parts[num_parts++] = carry;
  }

  ExactDecimal decimal;
  for (size_t part = num_parts; part-- > 0;) {
    for (uint32_t unit = kBase / 10; unit > 0; unit /= 10) {
      const auto digit = static_cast<char>('0' + parts[part] / unit % 10);
      if (decimal.num_digits > 0 || digit != '0') decimal.digits[static_cast<size_t>(decimal.num_digits++)] = digit;
    }
  }
  decimal.point = decimal.num_digits + std::min(exponent, 0);
  drop_zeros_at_end(decimal);
  return decimal;
}

// The first digits of a number.
ShortDecimal cut(const ExactDecimal& exact, int num_digits) {
  ShortDecimal decimal;
  decimal.num_digits = num_digits;
  decimal.point = exact.point;
  for (int i = 0; i < num_digits; ++i) decimal.digits[static_cast<size_t>(i)] = exact.digit(i);
  return decimal;
}

// The next number with as many digits.
ShortDecimal next(ShortDecimal decimal) {
  for (int i = decimal.num_digits; i-- > 0;) {
    char& digit = decimal.digits[static_cast<size_t>(i)];
    if (digit < '9') {
      ++digit;
      return decimal;
    }
    digit = '0';
  }
  decimal.digits[0] = '1';
  ++decimal.point;
  return decimal;
}

// Whether a number is rounded up to its first digits: to the nearest, and in the middle to an even last digit.
bool rounds_up(const ExactDecimal& exact, int num_digits) {
  if (exact.digit(num_digits) != '5') return exact.digit(num_digits) > '5';
  return exact.num_digits > num_digits + 1 || (exact.digit(num_digits - 1) - '0') % 2 != 0;
}

// Negative, 0 or positive, as a is less than b, equal or greater.
int compare(const ShortDecimal& a, const ExactDecimal& b) {
  if (a.point != b.point) return a.point - b.point;
  for (int i = 0; i < std::max(a.num_digits, b.num_digits); ++i) {
    if (a.digit(i) != b.digit(i)) return a.digit(i) - b.digit(i);
  }
  return 0;
}

char* write_fixed(const ShortDecimal& decimal, char* to) {
  if (decimal.point <= 0) {
    *to++ = '0';
    *to++ = '.';
    to = std::fill_n(to, -decimal.point, '0');
  }
  for (int i = 0; i < std::max(decimal.num_digits, decimal.point); ++i) {
    if (i > 0 && i == decimal.point) *to++ = '.';
    *to++ = decimal.digit(i);
  }
  return to;
}

char* write_scientific(const ShortDecimal& decimal, char* to) {
  for (int i = 0; i < decimal.num_digits; ++i) {
    if (i == 1) *to++ = '.';
    *to++ = decimal.digit(i);
  }
  return to + std::snprintf(to, 8, "e%+03d", decimal.point - 1);
}

// Writes the sign, and all of a number that has no digits. Returns where the digits follow, null if none do.
char* write_beginning(const Binary& value, char* to) {
  if (value.is_finite) {
    if (value.is_negative) *to++ = '-';
    if (value.mantissa != 0) return to;
    std::memcpy(to, "0", 2);
    return nullptr;
  }
  const char* word = value.is_negative ? WORD("-nan") : WORD("nan");
  if (value.mantissa == 0) word = value.is_negative ? WORD("-inf") : WORD("inf");
  std::memcpy(to, word, std::strlen(word) + 1);
  return nullptr;
}

// The fewest digits between the middles to the next smaller and the next larger number; of equally many the nearest.
// A middle itself is read as the number with the even mantissa. The limits may end the digits before.
ShortDecimal shortest(const Binary& value, const ExactDecimal& exact, const DigitLimits& limits) {
  const ExactDecimal low = value.begins_power ? exact_decimal(4 * value.mantissa - 1, value.exponent - 2)
                                              : exact_decimal(2 * value.mantissa - 1, value.exponent - 1);
  const ExactDecimal high = exact_decimal(2 * value.mantissa + 1, value.exponent - 1);
  const int beyond_middle = value.mantissa % 2 == 0 ? 0 : 1;
  for (int num_digits = std::min(limits.min_digits, limits.max_digits);; ++num_digits) {
    const ShortDecimal down = cut(exact, num_digits);
    const ShortDecimal up = next(down);
    const bool fits_down = compare(down, low) >= beyond_middle;
    const bool fits_up = compare(up, high) <= -beyond_middle;
    // Every double has a number of 17 digits that reads back as the same.
    const bool is_cut =
        num_digits >= std::min(limits.max_digits, kMaxDigits) || num_digits - exact.point >= limits.max_fraction;
    if (!fits_down && !fits_up && !is_cut) continue;
    return fits_up == fits_down ? (rounds_up(exact, num_digits) ? up : down) : (fits_up ? up : down);
  }
}

// The number in a format, which has it.
Binary in_format(Binary value, const FloatFormat& format) {
  const int dropped =
      std::max(std::numeric_limits<double>::digits - format.significand_bits, format.least_power - value.exponent);
  // The exponent of 0 is so small that `dropped` may exceed the width of the mantissa, for which >> is undefined.
  if (value.mantissa != 0) value.mantissa >>= dropped;
  value.exponent += dropped;
  value.begins_power =
      value.mantissa == uint64_t{1} << (format.significand_bits - 1) && value.exponent > format.least_power;
  return value;
}

}  // namespace

DecimalText::DecimalText(double value, int num_digits) {
  const auto parts = parts_of<double, uint64_t>(value);
  char* to = write_beginning(parts, text_);
  if (to == nullptr) return;
  const ExactDecimal exact = exact_decimal(parts.mantissa, parts.exponent);
  ShortDecimal decimal = cut(exact, num_digits);
  if (rounds_up(exact, num_digits)) decimal = next(decimal);
  drop_zeros_at_end(decimal);
  const bool is_fixed = decimal.point > -4 && decimal.point <= num_digits;
  *(is_fixed ? write_fixed(decimal, to) : write_scientific(decimal, to)) = '\0';
}

ShortestText::ShortestText(float value) {
  const auto parts = parts_of<float, uint32_t>(value);
  char* to = write_beginning(parts, text_);
  if (to == nullptr) return;
  const ExactDecimal exact = exact_decimal(parts.mantissa, parts.exponent);
  ShortDecimal decimal = shortest(parts, exact, {});
  drop_zeros_at_end(decimal);
  const int num_digits = decimal.num_digits;
  const int scientific_length = num_digits + (num_digits > 1 ? 1 : 0) + 4;
  int fixed_length = std::max(num_digits, decimal.point);
  if (decimal.point <= 0) fixed_length = num_digits - decimal.point + 2;
  if (decimal.point > 0 && decimal.point < num_digits) ++fixed_length;
  if (fixed_length > scientific_length) {
    *write_scientific(decimal, to) = '\0';
    return;
  }
  // A whole number has its own digits at the end, not zeros.
  if (decimal.point > num_digits) decimal = cut(exact, decimal.point);
  *write_fixed(decimal, to) = '\0';
}

DecimalDigits::DecimalDigits(double value, const FloatFormat& format, const DigitLimits& limits) {
  const Binary parts = in_format(parts_of<double, uint64_t>(value), format);
  if (parts.mantissa == 0) return;
  const ShortDecimal decimal = shortest(parts, exact_decimal(parts.mantissa, parts.exponent), limits);
  std::copy_n(decimal.digits.begin(), decimal.num_digits, digits_);
  num_digits_ = decimal.num_digits;
  exponent_ = decimal.point - 1;
}

}  // namespace heed
