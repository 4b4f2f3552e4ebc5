// SPDX-License-Identifier: Apache-2.0
#include "attention/relative_bias.h"

#include <cinttypes>
#include <utility>

#include "attention/bucket_start.h"
#include "base/error.h"

namespace heed {
namespace {

constexpr int64_t kDefaultBuckets = 32;
constexpr int64_t kDefaultMaxDistance = 128;
// Each distance has an entry in a table.
constexpr int64_t kLargestMaxDistance = int64_t{1} << 20;
// So that there is a max_distance beyond the distances with buckets of their own.
constexpr int64_t kMostBuckets = kLargestMaxDistance;

// The buckets of one direction, and how many of them are for one distance each.
int64_t buckets_of_direction(const RelativeBiasOptions& options) {
  return options.kind == RelativeBias::BothWays ? options.num_buckets / 2 : options.num_buckets;
}
int64_t exact_buckets(const RelativeBiasOptions& options) { return buckets_of_direction(options) / 2; }

}  // namespace

RelativeBiasOptions with_defaults(const RelativeBiasOptions& given) {
  RelativeBiasOptions options = given;
  if (options.kind == RelativeBias::None) {
    for (const auto& [name, value] : {std::pair{"relative_bias_buckets", options.num_buckets},
                                      {"relative_bias_max_distance", options.max_distance}}) {
      if (value == 0) continue;
      fail(Status::InvalidArgument,
           OPTION("%s") " is %" PRId64
                        ", but " OPTION("relative_bias") " is " CONSTANT("HEED_RELATIVE_BIAS_NONE") ": expected 0",
           name, value);
    }
    return options;
  }
  if (options.num_buckets == 0) options.num_buckets = kDefaultBuckets;
  if (options.max_distance == 0) options.max_distance = kDefaultMaxDistance;
  const bool is_even_needed = options.kind == RelativeBias::BothWays;
  const int64_t least = is_even_needed ? 4 : 2;
  if (options.num_buckets < least || options.num_buckets > kMostBuckets ||
      (is_even_needed && options.num_buckets % 2 != 0)) {
    fail(Status::InvalidArgument,
         OPTION("relative_bias_buckets") " is %" PRId64 ", expected %s %" PRId64 " to %" PRId64, options.num_buckets,
         is_even_needed ? "an even number from" : "a number from", least, kMostBuckets);
  }
  if (options.max_distance <= exact_buckets(options) || options.max_distance > kLargestMaxDistance) {
    fail(Status::InvalidArgument,
         OPTION(
             "relative_bias_max_distance") " is %" PRId64 ", expected above %" PRId64
                                           ", the number of distances with buckets of their own, and at most %" PRId64,
         options.max_distance, exact_buckets(options), kLargestMaxDistance);
  }
  return options;
}

std::vector<int32_t> relative_buckets(const RelativeBiasOptions& options) {
  const int64_t num_buckets = buckets_of_direction(options);
  const int64_t num_exact = exact_buckets(options);
  const int64_t furthest = options.max_distance;
  const auto start_of = [&](int64_t bucket) {
    return bucket < num_exact ? bucket : bucket_start(num_exact, furthest, bucket - num_exact, num_buckets - num_exact);
  };
  std::vector<int32_t> buckets(static_cast<size_t>(2 * furthest + 1));
  const auto bucket_of = [&](int64_t distance) -> int32_t& {
    return buckets[static_cast<size_t>(distance + furthest)];
  };
  const bool is_both_ways = options.kind == RelativeBias::BothWays;
  int64_t bucket = 0;
  int64_t next_start = start_of(1);
  for (int64_t steps = 0; steps <= furthest; ++steps) {
    while (bucket + 1 < num_buckets && next_start <= steps) {
      ++bucket;
      if (bucket + 1 < num_buckets) next_start = start_of(bucket + 1);
    }
    bucket_of(steps) = is_both_ways ? static_cast<int32_t>(num_buckets + bucket) : 0;
    bucket_of(-steps) = static_cast<int32_t>(bucket);
  }
  return buckets;
}

void write_options(const RelativeBiasOptions& options, JsonWriter& json) {
  if (options.kind == RelativeBias::None) return;
  json.member("relative_bias", options.kind == RelativeBias::BothWays ? "both_ways" : "one_way");
  json.member("relative_bias_buckets", options.num_buckets);
  json.member("relative_bias_max_distance", options.max_distance);
}

}  // namespace heed
