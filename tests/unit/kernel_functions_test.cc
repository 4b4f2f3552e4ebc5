// SPDX-License-Identifier: Apache-2.0
// The kernels' functions against the C library's in f64, on every ISA.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/philox.h"
#include "kernel_probes.h"

namespace heed::cpu {
namespace {

class KernelFunctions : public testing::TestWithParam<MathProbe> {};

using ArrayFunction = void (*)(const float*, int64_t, float*);

std::vector<float> values_of(ArrayFunction function, const std::vector<float>& arguments) {
  std::vector<float> values(arguments.size());
  function(arguments.data(), std::ssize(arguments), values.data());
  return values;
}

float value_of(ArrayFunction function, float argument) { return values_of(function, {argument})[0]; }

// Every `step`-th float from `first` to `last`, both non-negative.
std::vector<float> floats_between(float first, float last, uint32_t step) {
  std::vector<float> floats;
  const auto end = std::bit_cast<uint32_t>(last);
  for (auto bits = std::bit_cast<uint32_t>(first); bits <= end; bits += step) {
    floats.push_back(std::bit_cast<float>(bits));
  }
  return floats;
}

// The distance to the next float away from 0; below the smallest normal float 2^-149.
double unit_in_the_last_place(double value) { return std::ldexp(1.0, std::max(std::ilogb(value), -126) - 23); }

TEST_P(KernelFunctions, TanhIsWithinTwoUnitsInTheLastPlace) {
  // Every 1009th float, and all floats near the largest argument of the polynomial, and where the result becomes 1.
  std::vector<float> arguments = floats_between(0.0F, std::numeric_limits<float>::max(), 1009);
  for (const float point : {0.2816F, 0.62816F, 9.0F}) {
    const std::vector<float> neighbours = floats_between(point * 0.999F, point * 1.003F, 1);
    arguments.insert(arguments.end(), neighbours.begin(), neighbours.end());
  }
  const std::vector<float> values = values_of(GetParam().tanh, arguments);
  double worst = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const double expected = std::tanh(static_cast<double>(arguments[i]));
    const double error =
        expected == 0 ? std::abs(values[i]) : std::abs(values[i] - expected) / unit_in_the_last_place(expected);
    worst = std::max(worst, error);
    ASSERT_LE(error, 2.0) << std::hexfloat << arguments[i];
    ASSERT_LE(values[i], 1.0F) << std::hexfloat << arguments[i];
  }
  RecordProperty("ulps", std::to_string(worst));
}

TEST_P(KernelFunctions, TanhIsOddAndExactAtItsLimits) {
  const ArrayFunction tanh = GetParam().tanh;
  std::vector<float> arguments = floats_between(0.0F, kInfinity, 10007);
  const std::vector<float> values = values_of(tanh, arguments);
  for (float& argument : arguments) argument = -argument;
  const std::vector<float> mirrored = values_of(tanh, arguments);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(mirrored[i]), std::bit_cast<uint32_t>(-values[i])) << arguments[i];

  EXPECT_EQ(value_of(tanh, kInfinity), 1.0F);
  EXPECT_EQ(value_of(tanh, -kInfinity), -1.0F);
  EXPECT_EQ(value_of(tanh, std::numeric_limits<float>::max()), 1.0F);
  EXPECT_TRUE(std::isnan(value_of(tanh, kNaN)));
  EXPECT_TRUE(std::isnan(value_of(tanh, -kNaN)));
  EXPECT_TRUE(std::signbit(value_of(tanh, -0.0F)));
  EXPECT_FALSE(std::signbit(value_of(tanh, 0.0F)));
  for (const float tiny : {0x1p-149F, 0x1.8p-140F, 0x1p-126F, 0x1.fffffep-127F}) EXPECT_EQ(value_of(tanh, tiny), tiny);
}

TEST_P(KernelFunctions, Exp2IsWithinItsUnitsOfRoundOff) {
  // Every 1009th float down to where the result is 0, and a third of the floats of one period of the polynomial.
  std::vector<float> arguments = floats_between(0.0F, 151.0F, 1009);
  const std::vector<float> period = floats_between(0.5F, 1.5F, 3);
  arguments.insert(arguments.end(), period.begin(), period.end());
  for (float& argument : arguments) argument = -argument;
  const std::vector<float> values = values_of(GetParam().exp2_of_nonpositive, arguments);
  // The bounds that exp2-inl.h derives.
  const double units = std::string(GetParam().isa) == "portable" ? 1.9 : 1.5;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const double expected = std::exp2(static_cast<double>(arguments[i]));
    const double bound = units * 0x1p-24 * expected + (expected < 0x1p-126 ? 0x1p-150 : 0.0);
    ASSERT_LE(std::abs(values[i] - expected), bound) << std::hexfloat << arguments[i];
  }
}

TEST_P(KernelFunctions, Exp2IsExactAtItsLimits) {
  const ArrayFunction exp2 = GetParam().exp2_of_nonpositive;
  EXPECT_EQ(value_of(exp2, 0.0F), 1.0F);
  EXPECT_EQ(value_of(exp2, -0.0F), 1.0F);
  EXPECT_EQ(value_of(exp2, -std::numeric_limits<float>::denorm_min()), 1.0F);
  EXPECT_TRUE(std::isnan(value_of(exp2, kNaN)));
  for (const float argument : {-150.0F, -151.0F, -160.0F, -161.0F, -1e9F, -0x1p31F, -0x1p33F, -3e38F, -kInfinity})
    EXPECT_EQ(std::bit_cast<uint32_t>(value_of(exp2, argument)), 0U) << argument;
  // Powers of 2 are exact.
  for (int n = 0; n <= 149; ++n) EXPECT_EQ(value_of(exp2, static_cast<float>(-n)), std::ldexp(1.0F, -n)) << n;
}

TEST_P(KernelFunctions, Exp2WithoutTinyIsZeroBelowItsLimitAndElseTheSame) {
  const auto& probe = GetParam();
  EXPECT_EQ(value_of(probe.exp2_without_tiny, -100.0F), 0x1p-100F);
  for (const float argument : {-100.00001F, -101.0F, -126.5F, -140.0F, -1e9F, -kInfinity})
    EXPECT_EQ(std::bit_cast<uint32_t>(value_of(probe.exp2_without_tiny, argument)), 0U) << argument;
  EXPECT_TRUE(std::isnan(value_of(probe.exp2_without_tiny, kNaN)));
  std::vector<float> arguments = floats_between(0.0F, 100.0F, 10007);
  for (float& argument : arguments) argument = -argument;
  EXPECT_EQ(values_of(probe.exp2_without_tiny, arguments), values_of(probe.exp2_of_nonpositive, arguments));
}

TEST_P(KernelFunctions, PhiloxEqualsThatOfBase) {
  const int64_t count = int64_t{64} * GetParam().lanes;
  for (const uint64_t seed :
       {uint64_t{0}, uint64_t{1}, uint64_t{0x80000000}, uint64_t{0xA5A5'0000'0000'0000}, ~uint64_t{0}}) {
    std::vector<int32_t> words[4];
    for (auto& word : words) word.resize(static_cast<size_t>(count));
    std::vector<PhiloxCounter> expected;
    for (size_t i = 0; i < words[0].size(); ++i) {
      // Every bit occurs, and the words of a counter differ.
      const PhiloxCounter counter = philox4x32({static_cast<uint32_t>(i), 1, 2, 3}, seed + 1);
      for (size_t word = 0; word < 4; ++word) words[word][i] = static_cast<int32_t>(counter[word]);
      expected.push_back(philox4x32(counter, seed));
    }
    GetParam().philox({words[0].data(), words[1].data(), words[2].data(), words[3].data()}, count, seed);
    for (size_t i = 0; i < expected.size(); ++i) {
      for (size_t word = 0; word < 4; ++word)
        ASSERT_EQ(static_cast<uint32_t>(words[word][i]), expected[i][word]) << "seed " << seed << ", counter " << i;
    }
  }
}

TEST_P(KernelFunctions, WordsAreComparedUnsigned) {
  const uint32_t words[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF};
  for (const uint32_t word : words) {
    for (const uint32_t threshold : words) EXPECT_EQ(GetParam().is_kept(word, threshold), word >= threshold);
  }
}

HEED_FOR_EVERY_ISA(KernelFunctions);

}  // namespace
}  // namespace heed::cpu
