// SPDX-License-Identifier: Apache-2.0
#include "reference/positions.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace heed::reference {

int64_t num_queries(const AttentionSizes& sizes, const AttentionLimits& limits, int64_t b) {
  return limits.query_counts.empty() ? sizes.num_queries : limits.query_counts[static_cast<size_t>(b)];
}

int64_t num_keys(const AttentionSizes& sizes, const AttentionLimits& limits, int64_t b) {
  return limits.key_counts.empty() ? sizes.num_keys : limits.key_counts[static_cast<size_t>(b)];
}

int64_t query_position(const AttentionSizes& sizes, const AttentionLimits& limits, int64_t b, int64_t q) {
  if (limits.positions.empty()) return num_keys(sizes, limits, b) - num_queries(sizes, limits, b) + q;
  return limits.positions[static_cast<size_t>(b * sizes.num_queries + q)];
}

int64_t key_position(const AttentionSizes& sizes, const AttentionLimits& limits, int64_t b, int64_t k) {
  return limits.key_positions.empty() ? k : limits.key_positions[static_cast<size_t>(b * sizes.num_keys + k)];
}

int64_t relative_bucket(const RelativeBias& bias, int64_t distance) {
  const int64_t of_direction = bias.both_ways ? bias.num_buckets / 2 : bias.num_buckets;
  const int64_t first = bias.both_ways && distance > 0 ? of_direction : 0;
  const int64_t steps = bias.both_ways ? std::abs(distance) : std::max<int64_t>(0, -distance);
  const int64_t num_exact = of_direction / 2;
  if (steps < num_exact) return first + steps;
  // Bucket num_exact + n begins at num_exact * (max_distance / num_exact)^(n / others). A start that is a whole number
  // counts as reached.
  constexpr double kTie = 1e-12;
  const auto others = static_cast<double>(of_direction - num_exact);
  const auto start = static_cast<double>(num_exact);
  const double ratio = static_cast<double>(bias.max_distance) / start;
  int64_t bucket = num_exact;
  while (bucket + 1 < of_direction) {
    const double next = start * std::pow(ratio, static_cast<double>(bucket + 1 - num_exact) / others);
    if (static_cast<double>(steps) < next * (1.0 - kTie)) break;
    ++bucket;
  }
  return first + bucket;
}

double alibi_slope(int64_t h, int64_t num_heads) {
  int64_t power = 1;
  while (2 * power <= num_heads) power *= 2;
  const double number = h < power ? static_cast<double>(h) + 1.0 : static_cast<double>(h - power) + 0.5;
  return std::exp2(-8.0 * number / static_cast<double>(power));
}

}  // namespace heed::reference
