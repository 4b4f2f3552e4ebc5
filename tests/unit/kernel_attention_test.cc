// SPDX-License-Identifier: Apache-2.0
// What the kernels of attention have in common: results of parts of a row's keys, sums that are not finite, and biases by
// distance, on every ISA.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernel_probes.h"

namespace heed::cpu {
namespace {

class KernelAttention : public testing::TestWithParam<MathProbe> {};

struct Pair {
  float score;
  float value;
};

// The result of some keys with values of one element, as the kernels compute it.
std::vector<float> result_of(const MathProbe& probe, const std::vector<Pair>& pairs) {
  std::vector<float> result(probe.result_floats(1), 0.0F);
  float* numbers = result.data() + probe.lanes;
  numbers[0] = -kInfinity;
  for (const Pair& pair : pairs) numbers[0] = std::max(numbers[0], pair.score);
  for (const Pair& pair : pairs) {
    const float probability = std::exp(pair.score - numbers[0]);
    result[0] += probability * pair.value;
    numbers[1] += probability;
  }
  numbers[2] = pairs.empty() ? 0.0F : 1.0F;
  return result;
}

double mean_of(const std::vector<Pair>& pairs) {
  double sum = 0;
  double total = 0;
  for (const Pair& pair : pairs) {
    sum += std::exp(static_cast<double>(pair.score)) * pair.value;
    total += std::exp(static_cast<double>(pair.score));
  }
  return sum / total;
}

TEST_P(KernelAttention, ResultsOfPartsBecomeThatOfAllKeys) {
  const std::vector<std::vector<Pair>> parts = {{{0.5F, 3}, {-2, 1}}, {}, {{4, -1}}, {{1, 2}, {3.5F, 7}}};
  std::vector<Pair> all;
  std::vector<std::vector<float>> results;
  std::vector<float*> addresses;
  for (const std::vector<Pair>& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
    results.push_back(result_of(GetParam(), part));
  }
  for (std::vector<float>& result : results) addresses.push_back(result.data());
  GetParam().merge_results(addresses.data(), std::ssize(addresses), GetParam().lanes);
  const float* numbers = results[0].data() + GetParam().lanes;
  EXPECT_EQ(numbers[0], 4);
  EXPECT_NEAR(results[0][0] / numbers[1], mean_of(all), 1e-6);
  EXPECT_EQ(numbers[2], 1);
}

TEST_P(KernelAttention, PartsWithoutKeysMakeAResultWithoutKeys) {
  std::vector<std::vector<float>> results = {result_of(GetParam(), {}), result_of(GetParam(), {})};
  float* const addresses[] = {results[0].data(), results[1].data()};
  GetParam().merge_results(addresses, 2, GetParam().lanes);
  const float* numbers = results[0].data() + GetParam().lanes;
  EXPECT_EQ(results[0][0], 0);
  EXPECT_EQ(numbers[0], -kInfinity);
  EXPECT_EQ(numbers[1], 0);
  EXPECT_EQ(numbers[2], 0);
}

TEST_P(KernelAttention, LaterResultsAreMergedInTurn) {
  const std::vector<Pair> first = {{0.5F, 3}};
  const std::vector<Pair> second = {{2, -1}, {1, 4}};
  std::vector<float> earlier = result_of(GetParam(), first);
  std::vector<float> later = result_of(GetParam(), second);
  GetParam().merge_later_result(earlier.data(), later.data(), GetParam().lanes);
  EXPECT_NEAR(earlier[0] / earlier[GetParam().lanes + 1], mean_of({first[0], second[0], second[1]}), 1e-6);
}

TEST_P(KernelAttention, LaterKeysThatARowDoesNotSeeChangeNothing) {
  std::vector<float> earlier = result_of(GetParam(), {{0.5F, 3}});
  const std::vector<float> before = earlier;
  std::vector<float> later = result_of(GetParam(), {});
  later[0] = kNaN;
  GetParam().merge_later_result(earlier.data(), later.data(), GetParam().lanes);
  EXPECT_EQ(earlier, before);
}

TEST_P(KernelAttention, OneSumThatIsNotFiniteIsFound) {
  const int64_t lanes = GetParam().lanes;
  const int64_t step = lanes + 3;
  for (int64_t count = 0; count <= 9; ++count) {
    std::vector<float> sums(count * step + 1, kNaN);
    for (int64_t i = 0; i < count; ++i) std::fill_n(sums.begin() + i * step, lanes, 1e38F);
    EXPECT_FALSE(GetParam().any_not_finite(sums.data(), count, step)) << count;
    for (int64_t i = 0; i < count * lanes; ++i) {
      for (const float value : {kNaN, kInfinity, -kInfinity}) {
        float& sum = sums[i / lanes * step + i % lanes];
        sum = value;
        EXPECT_TRUE(GetParam().any_not_finite(sums.data(), count, step)) << count << " " << i << " " << value;
        sum = 1e38F;
      }
    }
  }
}

TEST_P(KernelAttention, BiasesOfConsecutiveLanesAreThoseOfTheirDistances) {
  constexpr int64_t kMaxDistance = 5;
  constexpr int64_t kBuckets = 4;
  const std::vector<int32_t> buckets = {0, 0, 1, 1, 2, 2, 3, 3, 2, 1, 3};
  std::vector<float> table = {10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33, 40, 41, 42, 43};
  AttentionProblem problem;
  problem.num_heads = 4;
  problem.num_kv_heads = 2;
  problem.max_distance = kMaxDistance;
  problem.buckets = buckets.data();
  problem.relative_bias.given = 1;
  problem.relative_bias.data = table.data();
  problem.relative_bias.dtype = DType::F32;
  problem.relative_bias.strides[1] = kBuckets;
  problem.relative_bias.strides[3] = 1;
  std::vector<float> biases(GetParam().lanes);
  for (int64_t head = 0; head < problem.num_heads; ++head) {
    for (const bool lanes_are_keys : {false, true}) {
      for (int64_t element = -100; element <= 100; ++element) {
        GetParam().relative_biases(problem, head, lanes_are_keys, element, biases.data());
        for (int64_t lane = 0; lane < GetParam().lanes; ++lane) {
          const int64_t limited = std::clamp<int64_t>(element + lane, 0, 2 * kMaxDistance);
          const int64_t entry = lanes_are_keys ? limited : 2 * kMaxDistance - limited;
          EXPECT_EQ(biases[lane], table[head * kBuckets + buckets[entry]]) << head << " " << element << " " << lane;
        }
      }
    }
  }
}

HEED_FOR_EVERY_ISA(KernelAttention);

}  // namespace
}  // namespace heed::cpu
