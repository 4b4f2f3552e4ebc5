// SPDX-License-Identifier: Apache-2.0
// The buckets of distances of a relative bias.
#include "attention/relative_bias.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace heed {
namespace {

RelativeBiasOptions of(RelativeBias kind, int64_t num_buckets, int64_t max_distance) {
  return with_defaults({.kind = kind, .num_buckets = num_buckets, .max_distance = max_distance});
}

TEST(RelativeBias, DefaultsAreThoseOfT5) {
  const RelativeBiasOptions options = of(RelativeBias::OneWay, 0, 0);
  EXPECT_EQ(options.num_buckets, 32);
  EXPECT_EQ(options.max_distance, 128);
  EXPECT_EQ(with_defaults({}).num_buckets, 0);
}

// Both tables have an entry for each distance up to max_distance; buckets never fall with the distance, begin with one for
// each distance, and end with the last.
TEST(RelativeBias, BucketsGrowWithTheDistance) {
  for (const RelativeBias kind : {RelativeBias::BothWays, RelativeBias::OneWay}) {
    const bool both_ways = kind == RelativeBias::BothWays;
    for (const int64_t num_buckets : {4, 6, 8, 32, 64, 320}) {
      const int64_t of_direction = both_ways ? num_buckets / 2 : num_buckets;
      const int64_t num_exact = of_direction / 2;
      for (const int64_t max_distance : {num_exact + 1, num_exact + 7, 4 * num_exact, int64_t{1000}}) {
        if (max_distance <= num_exact) continue;
        const RelativeBiasOptions options = of(kind, num_buckets, max_distance);
        const std::vector<int32_t> buckets = relative_buckets(options);
        ASSERT_EQ(buckets.size(), static_cast<size_t>(2 * max_distance + 1));
        const auto bucket = [&](int64_t distance) { return buckets[static_cast<size_t>(distance + max_distance)]; };
        EXPECT_EQ(bucket(-max_distance), of_direction - 1);
        for (int64_t steps = 0; steps <= max_distance; ++steps) {
          EXPECT_GE(bucket(-steps), 0);
          EXPECT_LT(bucket(-steps), of_direction);
          if (steps <= num_exact) {
            EXPECT_EQ(bucket(-steps), steps);
          }
          if (steps > 0) {
            EXPECT_GE(bucket(-steps), bucket(1 - steps));
            EXPECT_EQ(bucket(steps), both_ways ? bucket(-steps) + of_direction : 0);
          }
        }
      }
    }
  }
}

// The bucket of distance d is num_exact + floor(log(d / num_exact) / log(max_distance / num_exact) * num_exact): in
// integers, bucket b begins at the smallest d with (d / e)^e >= (m / e)^(b - e), here with e = 8 and m = 128 = 16 e, so that
// (m / e)^(1 / e) = sqrt(2).
TEST(RelativeBias, BucketsBeginWhereIntegersSay) {
  const std::vector<int32_t> buckets = relative_buckets(of(RelativeBias::BothWays, 32, 128));
  for (int64_t steps = 8; steps <= 128; ++steps) {
    // steps^2 >= 64 * 2^n
    int64_t n = 0;
    while (n < 7 && steps * steps >= (int64_t{64} << (n + 1))) ++n;
    EXPECT_EQ(buckets[static_cast<size_t>(128 - steps)], 8 + n) << "distance " << -steps;
    EXPECT_EQ(buckets[static_cast<size_t>(128 + steps)], 24 + n) << "distance " << steps;
  }
}

}  // namespace
}  // namespace heed
