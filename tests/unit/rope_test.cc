// SPDX-License-Identifier: Apache-2.0
// The frequencies of rotary positions, and the table of digits from which a position's rotation is computed.
#include "attention/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "ops/rotations.h"

namespace heed {
namespace {

RopeOptions of_layout(RopeScaling scaling = RopeScaling::None) {
  RopeOptions options;
  options.layout = RotaryLayout::Half;
  options.scaling = scaling;
  return options;
}

double plain(int64_t pair, double base, double size) { return std::pow(base, -2 * static_cast<double>(pair) / size); }

void expect_near(double is, double should) { EXPECT_NEAR(is / should, 1, 1e-14); }

TEST(Rope, DefaultsAreFilledIn) {
  RopeOptions given = of_layout();
  given.rotary_offset = 6;
  const RopeOptions options = with_defaults(given, 64);
  EXPECT_EQ(options.rotary_size, 58);
  EXPECT_EQ(options.base, 10000);
  EXPECT_EQ(options.attention_factor, 1);
  given = of_layout(RopeScaling::Yarn);
  given.factor = 4;
  given.original_length = 100;
  const RopeOptions yarn = with_defaults(given, 64);
  EXPECT_EQ(yarn.beta_fast, 32);
  EXPECT_EQ(yarn.beta_slow, 1);
  EXPECT_FLOAT_EQ(yarn.attention_factor, 0.1f * std::log(4.0f) + 1);
  given = of_layout(RopeScaling::Llama3);
  given.factor = 4;
  given.original_length = 100;
  const RopeOptions llama3 = with_defaults(given, 64);
  EXPECT_EQ(llama3.low_freq_factor, 1);
  EXPECT_EQ(llama3.high_freq_factor, 4);
  EXPECT_EQ(llama3.attention_factor, 1);
}

TEST(Rope, FrequenciesFallByTheBase) {
  RopeOptions given = of_layout();
  given.rotary_size = 10;
  given.base = 500;
  const std::vector<double> frequencies = rotary_frequencies(with_defaults(given, 16));
  ASSERT_EQ(frequencies.size(), 5U);
  for (size_t i = 0; i < 5; ++i) expect_near(frequencies[i], plain(static_cast<int64_t>(i), 500, 10));
}

TEST(Rope, ScalingsChangeFrequencies) {
  RopeOptions given = of_layout(RopeScaling::Linear);
  given.factor = 4;
  std::vector<double> frequencies = rotary_frequencies(with_defaults(given, 8));
  for (size_t i = 0; i < 4; ++i) expect_near(frequencies[i], plain(static_cast<int64_t>(i), 1e4, 8) / 4);

  given.scaling = RopeScaling::Ntk;
  frequencies = rotary_frequencies(with_defaults(given, 8));
  expect_near(frequencies[0], 1);
  expect_near(frequencies[3], plain(3, 1e4, 8) / 4);

  const std::vector<float> factors = {1, 2, 3, 4};
  given = of_layout(RopeScaling::Factors);
  given.factors = factors;
  given.factor = 8;
  given.original_length = 100;
  const RopeOptions longrope = with_defaults(given, 8);
  EXPECT_FLOAT_EQ(longrope.attention_factor, std::sqrt(1 + std::log(8.0f) / std::log(100.0f)));
  frequencies = rotary_frequencies(longrope);
  for (size_t i = 0; i < 4; ++i)
    expect_near(frequencies[i], plain(static_cast<int64_t>(i), 1e4, 8) / static_cast<double>(factors[i]));
}

// A factor of at most 1 does not change cosines and sines.
TEST(Rope, AttentionFactorIsAtLeastOne) {
  const std::vector<float> factors = {1, 1, 1, 1};
  for (const float factor : {0.5f, 1.0f}) {
    RopeOptions given = of_layout(RopeScaling::Factors);
    given.factors = factors;
    given.factor = factor;
    EXPECT_EQ(with_defaults(given, 8).attention_factor, 1);
    given = of_layout(RopeScaling::Yarn);
    given.factor = factor;
    given.original_length = 100;
    EXPECT_EQ(with_defaults(given, 8).attention_factor, 1);
  }
}

TEST(Rope, YarnWithBothEndsOfTheRangeAlikeHasAStep) {
  // All pairs turn less than once: both ends are 0, and only pair 0 keeps its frequency.
  RopeOptions given = of_layout(RopeScaling::Yarn);
  given.factor = 2;
  given.original_length = 1;
  const std::vector<double> frequencies = rotary_frequencies(with_defaults(given, 8));
  expect_near(frequencies[0], 1);
  for (size_t i = 1; i < 4; ++i) expect_near(frequencies[i], plain(static_cast<int64_t>(i), 1e4, 8) / 2);
}

// The rotation of a position, as the product of the rotations of its digits.
TEST(Rope, DigitsMakeEveryPosition) {
  RopeOptions given = of_layout();
  given.base = 150000;
  const std::vector<double> frequencies = rotary_frequencies(with_defaults(given, 32));
  const std::vector<double> digits = rotary_digits(frequencies);
  const size_t num_pairs = frequencies.size();
  ASSERT_EQ(digits.size(), static_cast<size_t>(kRotaryNumDigits * kRotaryRadix) * 2 * num_pairs);
  std::mt19937 random(3);
  std::vector<int64_t> positions = {0, 1, 15, 16, 17, 255, 256, 4095, 131071, 1048575, INT32_MAX};
  for (int i = 0; i < 1000; ++i) positions.push_back(static_cast<int64_t>(random() >> 1));
  for (const int64_t position : positions) {
    for (size_t pair = 0; pair < num_pairs; ++pair) {
      double cosine = 1;
      double sine = 0;
      int64_t rest = position;
      for (int64_t digit = 0; digit < kRotaryNumDigits; ++digit, rest /= kRotaryRadix) {
        const double* entry = &digits[static_cast<size_t>(digit * kRotaryRadix + rest % kRotaryRadix) * 2 * num_pairs];
        const double real = cosine * entry[pair] - sine * entry[pair + num_pairs];
        sine = cosine * entry[pair + num_pairs] + sine * entry[pair];
        cosine = real;
      }
      // The angle in f64 is off by half a unit in its last place, that of a digit likewise.
      const double angle = static_cast<double>(position) * frequencies[pair];
      const double allowed = 1e-14 + angle * 0x1p-52;
      ASSERT_NEAR(cosine, std::cos(angle), allowed) << "position " << position << ", pair " << pair;
      ASSERT_NEAR(sine, std::sin(angle), allowed) << "position " << position << ", pair " << pair;
    }
  }
}

}  // namespace
}  // namespace heed
