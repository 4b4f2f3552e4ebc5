// SPDX-License-Identifier: Apache-2.0
// Where buckets begin, compared with powers of whole numbers in all their digits.
#include "attention/bucket_start.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "attention/relative_bias.h"

namespace heed {
namespace {

// A natural number in base 10^9, the lowest digit first, without zeros at its front.
class Natural {
 public:
  // base^exponent * factor.
  Natural(int64_t base, int64_t exponent, const Natural& factor = Natural()) : digits_(factor.digits_) {
    for (int64_t i = 0; i < exponent; ++i) multiply(base);
  }

  bool operator<(const Natural& other) const {
    if (digits_.size() != other.digits_.size()) return digits_.size() < other.digits_.size();
    for (size_t i = digits_.size(); i-- > 0;) {
      if (digits_[i] != other.digits_[i]) return digits_[i] < other.digits_[i];
    }
    return false;
  }

 private:
  static constexpr uint64_t kBase = 1000000000;

  Natural() : digits_{1} {}

  void multiply(int64_t factor) {
    uint64_t carry = 0;
    for (uint64_t& digit : digits_) {
      carry += digit * static_cast<uint64_t>(factor);
      digit = carry % kBase;
      carry /= kBase;
    }
    for (; carry > 0; carry /= kBase) digits_.push_back(carry % kBase);
  }

  std::vector<uint64_t> digits_;
};

// The formula, in whole numbers: number^num_parts >= last^part * first^(num_parts - part).
bool is_reached(int64_t number, int64_t first, int64_t last, int64_t part, int64_t num_parts) {
  return !(Natural(number, num_parts) < Natural(last, part, Natural(first, num_parts - part)));
}

void expect_start(int64_t start, int64_t first, int64_t last, int64_t part, int64_t num_parts) {
  const int64_t found = bucket_start(first, last, part, num_parts);
  EXPECT_EQ(found, start) << first << " * (" << last << " / " << first << ")^(" << part << " / " << num_parts << ")";
  EXPECT_TRUE(is_reached(found, first, last, part, num_parts));
  EXPECT_FALSE(is_reached(found - 1, first, last, part, num_parts));
}

TEST(BucketStart, IsAWholeNumberWhereTheFormulaIs) {
  expect_start(8, 4, 128, 1, 5);
  expect_start(16, 4, 128, 2, 5);
  expect_start(64, 4, 128, 4, 5);
  expect_start(18, 8, 27, 6, 9);  // 8 * (27 / 8)^(2 / 3)
  expect_start(1, 1, 1 << 20, 0, 20);
  expect_start(2, 1, 1 << 20, 1, 20);
  expect_start(1 << 19, 1, 1 << 20, 19, 20);
  expect_start(int64_t{1000} * 999, int64_t{999} * 999, int64_t{1000} * 1000, 1, 2);
}

// f64 cannot tell on which side of the whole number the start is.
TEST(BucketStart, IsExactWhereTheFormulaIsAlmostWhole) {
  constexpr int64_t kMost = 1 << 20;
  expect_start(kMost - 1, kMost - 2, kMost, 1, 2);  // the root of (2^20 - 1)^2 - 1
  expect_start(559176, 306232, 947017, 8, 15);
  expect_start(574339, 84129, 759467, 55, 63);
  expect_start(613369, 447026, 728887, 11, 17);
}

TEST(BucketStart, IsExactForLargeNumbers) {
  std::mt19937_64 random(1);
  const auto below = [&](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); };
  for (int i = 0; i < 60; ++i) {
    const int64_t first = 1 + below(1 << 19);
    const int64_t last = first + 1 + below((1 << 20) - first);
    const int64_t num_parts = 1 + below(400);
    const int64_t part = below(num_parts + 1);
    expect_start(bucket_start(first, last, part, num_parts), first, last, part, num_parts);
  }
}

// All pairs of up to 48 buckets of a direction and a max_distance of up to 160.
TEST(BucketStart, BucketsOfAllDistancesAreExact) {
  constexpr int64_t kMostBuckets = 48;
  constexpr int64_t kMostDistance = 160;
  int64_t num_pairs = 0;
  for (int64_t num_buckets = 2; num_buckets <= kMostBuckets; ++num_buckets) {
    const int64_t num_exact = num_buckets / 2;
    const int64_t num_parts = num_buckets - num_exact;
    std::vector<Natural> powers;  // of each distance
    for (int64_t distance = 0; distance <= kMostDistance; ++distance) powers.emplace_back(distance, num_parts);
    for (int64_t max_distance = num_exact + 1; max_distance <= kMostDistance; ++max_distance) {
      const std::vector<int32_t> one_way =
          relative_buckets({.kind = RelativeBias::OneWay, .num_buckets = num_buckets, .max_distance = max_distance});
      const std::vector<int32_t> both_ways = relative_buckets(
          {.kind = RelativeBias::BothWays, .num_buckets = 2 * num_buckets, .max_distance = max_distance});
      std::vector<int64_t> expected;
      for (int64_t distance = 0; distance < num_exact; ++distance) expected.push_back(distance);
      for (int64_t part = 1; part <= num_parts; ++part) {
        const Natural start(max_distance, part, Natural(num_exact, num_parts - part));
        const bool is_last = part == num_parts;
        while (static_cast<int64_t>(expected.size()) <= max_distance && (is_last || powers[expected.size()] < start))
          expected.push_back(num_exact + part - 1);
      }
      ASSERT_EQ(static_cast<int64_t>(expected.size()), max_distance + 1);
      for (int64_t distance = 0; distance <= max_distance; ++distance) {
        const int64_t bucket = expected[static_cast<size_t>(distance)];
        const auto before = static_cast<size_t>(max_distance - distance);
        const auto after = static_cast<size_t>(max_distance + distance);
        ASSERT_EQ(one_way[before], bucket) << num_buckets << " buckets, " << max_distance << ", distance " << distance;
        ASSERT_EQ(both_ways[before], bucket);
        if (distance == 0) continue;
        ASSERT_EQ(one_way[after], 0);
        ASSERT_EQ(both_ways[after], num_buckets + bucket);
      }
      ++num_pairs;
    }
  }
  EXPECT_EQ(num_pairs, 6944);
}

}  // namespace
}  // namespace heed
