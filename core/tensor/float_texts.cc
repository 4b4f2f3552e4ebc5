// SPDX-License-Identifier: Apache-2.0
#include "tensor/float_texts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/decimal_text.h"

namespace heed {
namespace {

// NumPy's precision: the number of digits after the point.
constexpr int kMaxFraction = 8;
constexpr double kLargestWithoutExponent = 1e8;
constexpr double kLargestSingleWithoutExponent = 1e16;
constexpr double kLeastWithoutExponent = 1e-4;
constexpr double kLargestRatioWithoutExponent = 1000;
constexpr size_t kMinExponentDigits = 2;

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::F16: return {11, -24};
    case DType::BF16: return {8, -133};
    case DType::F32: return {24, -149};
    case DType::F64:
    case DType::I32:
    case DType::I64:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
  return {53, -1074};
}

// 10 to the power n, where n is the number of decimal digits that a number of the format always keeps.
double tens_of(const FloatFormat& format) {
  return std::pow(10, std::floor((format.significand_bits - 1) * std::log10(2)));
}

std::string name_of(double number) { return std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf"; }

void pad_left(std::string& text, size_t width, char filling = ' ') {
  if (text.size() < width) text.insert(0, width - text.size(), filling);
}

void pad_right(std::string& text, size_t width, char filling = ' ') {
  if (text.size() < width) text.append(width - text.size(), filling);
}

// A finite number: the digits before the point, with the sign; the digits after it; the exponent of ten.
struct Parts {
  std::string whole;
  std::string fraction;
  int exponent = 0;

  std::string exponent_text(size_t num_digits) const {
    std::string digits = std::to_string(std::abs(exponent));
    pad_left(digits, num_digits, '0');
    return (exponent < 0 ? "e-" : "e+") + digits;
  }
  size_t exponent_digits() const { return std::max(std::to_string(std::abs(exponent)).size(), kMinExponentDigits); }
};

Parts make_parts(double number, const std::string& digits, size_t num_whole, int exponent) {
  Parts parts{(std::signbit(number) ? "-" : "") + digits.substr(0, num_whole), digits.substr(num_whole), exponent};
  parts.fraction.erase(parts.fraction.find_last_not_of('0') + 1);
  return parts;
}

Parts positional(double number, const FloatFormat& format, int max_fraction) {
  const DecimalDigits found(number, format, {.max_fraction = max_fraction});
  std::string digits(static_cast<size_t>(std::max(-found.exponent(), 0)), '0');
  digits.append(found.digits(), static_cast<size_t>(found.num_digits()));
  const auto num_whole = static_cast<size_t>(std::max(found.exponent(), 0)) + 1;
  pad_right(digits, num_whole, '0');
  return make_parts(number, digits, num_whole, 0);
}

Parts scientific(double number, const FloatFormat& format, const DigitLimits& limits) {
  const DecimalDigits found(number, format, limits);
  return make_parts(number, {found.digits(), static_cast<size_t>(found.num_digits())}, 1, found.exponent());
}

// Whether the numbers are printed with exponents. NumPy compares with bounds, and a ratio, that are rounded to the
// array's type.
bool need_exponents(std::span<const double> numbers, const FloatFormat& format) {
  double largest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const double number : numbers) {
    const double size = std::abs(number);
    if (size == 0 || !std::isfinite(size)) continue;
    largest = std::max(largest, size);
    least = std::min(least, size);
  }
  const double step = std::ldexp(1.0, std::ilogb(kLeastWithoutExponent) + 1 - format.significand_bits);
  const double ratio_step = std::ldexp(1.0, std::ilogb(kLargestRatioWithoutExponent) + 1 - format.significand_bits);
  return largest >= std::min(kLargestWithoutExponent, tens_of(format)) ||
         least < std::rint(kLeastWithoutExponent / step) * step ||
         largest / least > kLargestRatioWithoutExponent + ratio_step / 2;
}

}  // namespace

std::vector<std::string> aligned_texts(std::span<const double> numbers, DType dtype) {
  const FloatFormat format = format_of(dtype);
  const bool is_scientific = need_exponents(numbers, format);
  std::vector<std::optional<Parts>> parts(numbers.size());
  size_t left = 0;
  size_t fraction = 0;
  size_t exponent_digits = 0;
  size_t longest_name = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i])) {
      longest_name = std::max(longest_name, name_of(numbers[i]).size());
      continue;
    }
    parts[i] = is_scientific ? scientific(numbers[i], format, {.max_digits = kMaxFraction + 1})
                             : positional(numbers[i], format, kMaxFraction);
    left = std::max(left, parts[i]->whole.size());
    fraction = std::max(fraction, parts[i]->fraction.size());
    exponent_digits = std::max(exponent_digits, parts[i]->exponent_digits());
  }
  const size_t right = fraction + (is_scientific ? 2 + exponent_digits : 0);
  if (longest_name > right + 1) left = std::max(left, longest_name - right - 1);

  std::vector<std::string> texts;
  texts.reserve(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::string text;
    if (!parts[i]) {
      text = name_of(numbers[i]);
      pad_left(text, left + 1 + right);
    } else {
      const auto num_digits = static_cast<int>(fraction) + 1;
      Parts part = is_scientific ? scientific(numbers[i], format, {.max_digits = num_digits, .min_digits = num_digits})
                                 : *std::move(parts[i]);
      pad_left(part.whole, left);
      pad_right(part.fraction, fraction, is_scientific ? '0' : ' ');
      text = part.whole + "." + part.fraction;
      if (is_scientific) text += part.exponent_text(exponent_digits);
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string single_text(double number, DType dtype) {
  if (!std::isfinite(number)) return name_of(number);
  const FloatFormat format = format_of(dtype);
  const double size = std::abs(number);
  const double limit = dtype == DType::F64 ? kLargestSingleWithoutExponent : tens_of(format);
  if (size == 0 || (size < limit && size >= kLeastWithoutExponent)) {
    const Parts parts = positional(number, format, DigitLimits::kNone);
    return parts.whole + "." + (parts.fraction.empty() ? "0" : parts.fraction);
  }
  const Parts parts = scientific(number, format, {});
  return parts.whole + (parts.fraction.empty() ? "" : "." + parts.fraction) + parts.exponent_text(kMinExponentDigits);
}

}  // namespace heed
