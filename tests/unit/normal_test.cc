// SPDX-License-Identifier: Apache-2.0
#include "base/normal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heed {
namespace {

// The quantile is the inverse of the distribution function, which the C library computes by erfc.
TEST(Normal, QuantileInvertsTheDistribution) {
  double probability = 0x1p-33;
  while (probability < 1) {
    const double quantile = normal_quantile(probability);
    const double back = 0.5 * std::erfc(-quantile / std::sqrt(2.0));
    // An error e of the quantile changes the probability by e * density. The relative change grows with the magnitude
    // of the quantile.
    EXPECT_NEAR(back, probability, 1e-14 * probability * (1 + quantile * quantile)) << quantile;
    EXPECT_NEAR(normal_quantile(1 - probability), -quantile, 1e-6 * (1 + std::abs(quantile))) << probability;
    // In the tail steps by a factor, then equal steps.
    probability += probability < 0.01 ? probability * 0.37 : 0.0013;
  }
  EXPECT_EQ(normal_quantile(0.5), 0);
}

TEST(Normal, NumbersHaveTheMomentsOfTheDistribution) {
  constexpr int kCount = 1 << 18;
  double sum = 0;
  double squares = 0;
  double cubes = 0;
  double fourths = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double x = normal_number(7, 3, i);
    sum += x;
    squares += x * x;
    cubes += x * x * x;
    fourths += x * x * x * x;
  }
  // Six standard errors of each moment: sqrt(variance of x^n / count), with variances 1, 2, 15 and 96.
  const double error = 6 / std::sqrt(kCount);
  EXPECT_NEAR(sum / kCount, 0, error);
  EXPECT_NEAR(squares / kCount, 1, error * std::sqrt(2.0));
  EXPECT_NEAR(cubes / kCount, 0, error * std::sqrt(15.0));
  EXPECT_NEAR(fourths / kCount, 3, error * std::sqrt(96.0));
}

TEST(Normal, SeedStreamAndIndexAllMatterAndNothingElseDoes) {
  EXPECT_EQ(normal_number(1, 2, 3), normal_number(1, 2, 3));
  EXPECT_NE(normal_number(1, 2, 3), normal_number(2, 2, 3));
  EXPECT_NE(normal_number(1, 2, 3), normal_number(1, 3, 3));
  EXPECT_NE(normal_number(1, 2, 3), normal_number(1, 2, 4));
  EXPECT_NE(normal_number(1, 2, 3), normal_number(1, 2, 3 + (uint64_t{1} << 34)));
}

}  // namespace
}  // namespace heed
