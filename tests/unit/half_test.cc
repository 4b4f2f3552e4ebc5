// SPDX-License-Identifier: Apache-2.0
// The 16-bit formats against their definition, value = (-1)^sign * 2^exponent * significand, computed with ldexp.
#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace heed {
namespace {

struct Format {
  int exponent_bits;
  int mantissa_bits;
};

constexpr Format kHalf{5, 10};
constexpr Format kBFloat16{8, 7};

double by_definition(Format format, uint16_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = bits >> format.mantissa_bits & ((1 << format.exponent_bits) - 1);
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << format.exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << format.mantissa_bits), exponent - bias - format.mantissa_bits);
}

template <typename Type, typename Narrow>
void check_format(Format format, Narrow narrow) {
  std::vector<double> finite;  // ascending, from 0
  for (int bits = 0; bits < 0x10000; ++bits) {
    const double expected = by_definition(format, static_cast<uint16_t>(bits));
    const Type value{static_cast<uint16_t>(bits)};
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(widen(value))) << bits;
      EXPECT_TRUE(std::isnan(widen(narrow(expected))));
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint64_t>(static_cast<double>(widen(value))), std::bit_cast<uint64_t>(expected)) << bits;
    ASSERT_EQ(narrow(expected).bits, bits) << expected;
    if (bits < 0x8000 && std::isfinite(expected)) finite.push_back(expected);
  }
  // A number between two neighbours is rounded down if it is below their middle, up if it is above, and to the even
  // neighbour if it is the middle. The upper neighbour of the largest number is the next number of a format without a
  // largest number; from the middle to it on, numbers are rounded to infinity.
  const double last = finite.back();
  finite.push_back(2 * last - finite[finite.size() - 2]);
  for (size_t i = 0; i + 1 < finite.size(); ++i) {
    const double middle = (finite[i] + finite[i + 1]) / 2;
    const auto low = static_cast<uint16_t>(i);
    const auto high = static_cast<uint16_t>(i + 1);
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0)).bits, low) << middle;
    ASSERT_EQ(narrow(std::nextafter(middle, HUGE_VAL)).bits, high) << middle;
    ASSERT_EQ(narrow(middle).bits, i % 2 == 0 ? low : high) << middle;
    ASSERT_EQ(narrow(-middle).bits, (i % 2 == 0 ? low : high) | 0x8000) << middle;
  }
  EXPECT_EQ(narrow(1e300).bits, narrow(HUGE_VAL).bits);
  EXPECT_EQ(narrow(1e-300).bits, 0);
  EXPECT_EQ(narrow(-5e-324).bits, 0x8000);
}

TEST(Half, WidensExactlyAndNarrowsToNearestEven) { check_format<Half>(kHalf, narrow_to_half); }

TEST(BFloat16, WidensExactlyAndNarrowsToNearestEven) { check_format<BFloat16>(kBFloat16, narrow_to_bfloat16); }

}  // namespace
}  // namespace heed
