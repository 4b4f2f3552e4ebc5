// SPDX-License-Identifier: Apache-2.0
// Numbers in error messages: as printf writes them in the "C" locale, in which this program runs. Numbers in JSON: as std::to_chars writes
// them.
#include "base/decimal_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "base/sentence.h"

namespace heed {
namespace {

void expect_as_printf(double value) {
  char expected[64];
  for (const int num_digits : {1, 2, 6, 9, 16, 17}) {
    std::snprintf(expected, sizeof expected, "%.*g", num_digits, value);
    EXPECT_EQ(said_in_c(DecimalText(value, num_digits).c_str()), expected);
  }
}

TEST(DecimalText, IsThatOfPrintf) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {0.0, 1.0, 1.5, 0.1, 1e5, 1e6, 999999.5, 123456789.0, 1e-4, 1e-5, DBL_MAX, DBL_MIN,
                             DBL_TRUE_MIN, static_cast<double>(0.1F), 2.0 / 3.0, kInfinity, kNan}) {
    expect_as_printf(value);
    expect_as_printf(-value);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    expect_as_printf(value);
  }
}

// Ties are rounded to an even digit.
TEST(DecimalText, RoundsMiddlesAsPrintf) {
  for (int i = 1; i < 4'000; ++i) {
    expect_as_printf(i / 8.0);
    expect_as_printf(i * 12.5);
  }
}

TEST(DecimalText, HasSixDigitsByDefault) { EXPECT_STREQ(DecimalText(1.0 / 3).c_str(), "0.333333"); }

void expect_as_to_chars(float value) {
  char expected[32];
  *std::to_chars(expected, expected + sizeof expected - 1, value).ptr = '\0';
  EXPECT_STREQ(ShortestText(value).c_str(), expected);
}

float float_of(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The distances to the next smaller and the next larger float differ only at powers of two.
TEST(ShortestText, IsThatOfToCharsAroundPowersOfTwo) {
  for (uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (uint32_t step = 0; step < 20; ++step) {
      expect_as_to_chars(float_of((exponent << 23) + step));
      if (exponent > 0) expect_as_to_chars(-float_of((exponent << 23) - step));
    }
  }
  expect_as_to_chars(FLT_MAX);
}

TEST(ShortestText, IsThatOfToCharsForShortAndLongNumbers) {
  for (int i = 0; i < 3'000; ++i) {
    for (const double unit : {1e-7, 1e-3, 1.0, 1e3, 12345.0}) expect_as_to_chars(static_cast<float>(i * unit));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const float value = float_of(static_cast<uint32_t>(random()));
    if (std::isfinite(value)) expect_as_to_chars(value);
  }
}

constexpr FloatFormat kDouble = {53, -1074};
constexpr FloatFormat kFloat = {24, -149};
constexpr FloatFormat kHalfFormat = {11, -24};

// The digits without zeros at the end, and the power of ten of the first.
std::pair<std::string, int> digits_of(double value, const FloatFormat& format, const DigitLimits& limits = {}) {
  const DecimalDigits found(value, format, limits);
  std::string digits(found.digits(), static_cast<size_t>(found.num_digits()));
  digits.erase(digits.find_last_not_of('0') + 1);
  return {digits, found.exponent()};
}

using Digits = std::pair<std::string, int>;

TEST(DecimalDigits, AreTheFewestOfTheFormat) {
  EXPECT_EQ(digits_of(0.1, kDouble), Digits("1", -1));
  EXPECT_EQ(digits_of(0.1F, kDouble), Digits("10000000149011612", -1));
  EXPECT_EQ(digits_of(0.1F, kFloat), Digits("1", -1));
  EXPECT_EQ(digits_of(0.0999755859375, kHalfFormat), Digits("1", -1));
  EXPECT_EQ(digits_of(-1234.5, kDouble), Digits("12345", 3));
  EXPECT_EQ(digits_of(0x1p-24, kHalfFormat), Digits("6", -8)) << "the smallest F16";
  EXPECT_EQ(digits_of(0x1p-1074, kDouble), Digits("5", -324));
  EXPECT_EQ(digits_of(1e23, kDouble), Digits("1", 23));
  EXPECT_EQ(digits_of(0, kDouble), Digits("", 0));
}

TEST(DecimalDigits, AreThoseOfToCharsForDoubles) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    char expected[64];
    *std::to_chars(expected, expected + sizeof expected - 1, std::abs(value), std::chars_format::scientific).ptr = '\0';
    const auto [digits, exponent] = digits_of(value, kDouble);
    std::string found = digits.substr(0, 1) + (digits.size() > 1 ? "." : "") + digits.substr(1);
    char power[8];
    std::snprintf(power, sizeof power, "e%+03d", exponent);
    EXPECT_EQ(found + power, expected);
  }
}

TEST(DecimalDigits, AreRoundedWhereALimitEndsThem) {
  EXPECT_EQ(digits_of(2.0 / 3, kDouble, {.max_digits = 3}), Digits("667", -1));
  EXPECT_EQ(digits_of(2.0 / 3, kDouble, {.max_fraction = 2}), Digits("67", -1));
  EXPECT_EQ(digits_of(1234.5678, kDouble, {.max_fraction = 2}), Digits("123457", 3));
  EXPECT_EQ(digits_of(0.125, kDouble, {.max_fraction = 2}), Digits("12", -1)) << "in the middle to the even digit";
  EXPECT_EQ(digits_of(0.375, kDouble, {.max_fraction = 2}), Digits("38", -1));
  EXPECT_EQ(digits_of(9.996, kDouble, {.max_fraction = 2}), Digits("1", 1));
  EXPECT_EQ(digits_of(0.1F, kFloat, {.max_digits = 9, .min_digits = 9}), Digits("100000001", -1));
}

}  // namespace
}  // namespace heed
