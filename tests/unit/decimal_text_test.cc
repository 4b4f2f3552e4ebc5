// SPDX-License-Identifier: Apache-2.0
// Numbers in error messages: as printf writes them in the "C" locale, in which this program runs.
#include "base/decimal_text.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

namespace heed {
namespace {

void expect_as_printf(double value) {
  char expected[64];
  for (const int num_digits : {6, 9, 17}) {
    std::snprintf(expected, sizeof expected, "%.*g", num_digits, value);
    EXPECT_STREQ(DecimalText(value, num_digits).c_str(), expected);
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

TEST(DecimalText, HasSixDigitsByDefault) { EXPECT_STREQ(DecimalText(1.0 / 3).c_str(), "0.333333"); }

}  // namespace
}  // namespace heed
