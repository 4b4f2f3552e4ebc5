// SPDX-License-Identifier: Apache-2.0
#include "tensor/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace heed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename Integer>
void check_float_to_integer() {
  using Limits = std::numeric_limits<Integer>;
  EXPECT_EQ((convert<Integer>(kNaN)), 0);
  EXPECT_EQ((convert<Integer>(kInfinity)), Limits::max());
  EXPECT_EQ((convert<Integer>(-kInfinity)), Limits::lowest());
  EXPECT_EQ((convert<Integer>(2.99)), 2);
  EXPECT_EQ((convert<Integer>(1e30)), Limits::max());
  EXPECT_EQ((convert<Integer>(-1e30)), Limits::lowest());
  // The numbers next to both limits of the integer type, inside and outside.
  const double past = std::ldexp(1.0, Limits::digits);
  EXPECT_EQ((convert<Integer>(past)), Limits::max());
  EXPECT_EQ((convert<Integer>(std::nextafter(past, 0.0))),
            sizeof(Integer) == 8 ? static_cast<Integer>(std::nextafter(past, 0.0)) : Limits::max());
  EXPECT_EQ((convert<Integer>(-0.99)), 0);
}

TEST(Convert, FloatToIntegerTruncatesAndSaturates) {
  check_float_to_integer<int8_t>();
  check_float_to_integer<uint8_t>();
  check_float_to_integer<int32_t>();
  check_float_to_integer<int64_t>();
  EXPECT_EQ((convert<int8_t>(-2.99F)), -2);
  EXPECT_EQ((convert<int8_t>(narrow_to_half(-2.99))), -2);
  EXPECT_EQ((convert<uint8_t>(-3.0)), 0);
}

TEST(Convert, IntegersSaturate) {
  EXPECT_EQ((convert<int8_t>(int32_t{300})), 127);
  EXPECT_EQ((convert<int8_t>(int64_t{-300})), -128);
  EXPECT_EQ((convert<uint8_t>(int8_t{-1})), 0);
  EXPECT_EQ((convert<int32_t>(int64_t{1} << 40)), std::numeric_limits<int32_t>::max());
  EXPECT_EQ((convert<int64_t>(uint8_t{255})), 255);
  EXPECT_EQ((convert<int8_t>(int32_t{127})), 127);
  EXPECT_EQ((convert<int8_t>(int32_t{128})), 127);
  EXPECT_EQ((convert<int8_t>(int32_t{-128})), -128);
  EXPECT_EQ((convert<int8_t>(int32_t{-129})), -128);
}

TEST(Convert, AnythingButZeroIsTrue) {
  EXPECT_EQ((convert<Boolean>(0.5)).byte, 1);
  EXPECT_EQ((convert<Boolean>(kNaN)).byte, 1);
  EXPECT_EQ((convert<Boolean>(-0.0)).byte, 0);
  EXPECT_EQ((convert<Boolean>(int8_t{-4})).byte, 1);
  EXPECT_EQ((convert<Boolean>(Boolean{7})).byte, 1);
  EXPECT_EQ((convert<float>(Boolean{7})), 1.0F);
  EXPECT_EQ((convert<float>(Boolean{0})), 0.0F);
}

// The numbers are just beside a tie. A conversion to double first would round them to the tie itself.
TEST(Convert, IntegerToFloatRoundsOnce) {
  const int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54);  // halfway between two bfloat16 numbers, the lower even
  EXPECT_EQ(widen(convert<BFloat16>(tie)), 0x1p62F);
  EXPECT_EQ(widen(convert<BFloat16>(tie + 1)), 0x1p62F + 0x1p55F);
  EXPECT_EQ(widen(convert<BFloat16>(tie - 1)), 0x1p62F);
  EXPECT_EQ(widen(convert<BFloat16>(-tie - 1)), -0x1p62F - 0x1p55F);
  EXPECT_EQ(widen(convert<BFloat16>(std::numeric_limits<int64_t>::max())), 0x1p63F);
  EXPECT_EQ(widen(convert<BFloat16>(std::numeric_limits<int64_t>::lowest())), -0x1p63F);
  EXPECT_EQ(widen(convert<Half>(int32_t{65519})), 65504.0F);
  EXPECT_TRUE(std::isinf(widen(convert<Half>(int32_t{65520}))));
  EXPECT_EQ((convert<float>((int64_t{1} << 24) + 1)), 0x1p24F);
}

}  // namespace
}  // namespace heed
