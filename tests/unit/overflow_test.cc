// SPDX-License-Identifier: Apache-2.0
// Values for which the unnormalized sums of the online softmax would overflow, although the means do not.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/attention.h"
#include "backends/cpu/engine/isa.h"
#include "lone_worker.h"
#include "ops/attention.h"

namespace heed::cpu {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

// Two queries and `values.size()` keys with head sizes of 1 and scores of 0: each output is the mean of the visible
// values.
std::vector<float> mean_of(std::vector<float> values, int64_t length_of_second) {
  const auto num_keys = static_cast<int64_t>(values.size());
  std::vector<float> zeros(values.size() + 2, 0.0F);
  std::vector<float> output(2);
  int64_t lens[] = {num_keys, length_of_second};
  AttentionProblem problem;
  problem.batch = problem.num_heads = problem.num_kv_heads = problem.head_size = problem.value_head_size = 1;
  problem.limits = unlimited(2, num_keys);
  const auto operand = [](void* data) {
    Operand result;
    result.data = data;
    result.given = 1;
    result.strides[2] = 1;
    return result;
  };
  problem.queries = operand(zeros.data());
  problem.keys = operand(zeros.data());
  problem.values = operand(values.data());
  problem.output = operand(output.data());
  problem.limits.valid_lens = operand(lens);
  problem.limits.valid_lens.dtype = DType::I64;
  const KernelTable& kernels = *widest_isa().kernels;
  const Plan plan = plan_attention(kernels, problem, 1);
  std::vector<float> scratch(plan.scratch_bytes / sizeof(float) + 1);
  LoneWorker alone;
  Failure failure;
  run_attention(kernels, problem, plan, Workers(alone, &failure), scratch.data());
  return output;
}

TEST(Overflow, MeansOfTheLargestValuesAreFinite) {
  // 200 additions have a relative error of at most 200 * 2^-24 < 2^-16; a missing term would change the mean by 1/200 >
  // 2^-8.
  const float tolerance = kLargest * 0x1p-16F;
  const std::vector<float> output = mean_of(std::vector<float>(200, kLargest / 2), 130);
  EXPECT_NEAR(output[0], kLargest / 2, tolerance);
  EXPECT_NEAR(output[1], kLargest / 2, tolerance);
}

TEST(Overflow, OppositeLargestValuesCancel) {
  std::vector<float> values;
  for (int i = 0; i < 50; ++i) values.insert(values.end(), {kLargest, kLargest, -kLargest, -kLargest});
  const std::vector<float> output = mean_of(values, 0);
  EXPECT_NEAR(output[0], 0, kLargest * 0x1p-16F);
  EXPECT_EQ(output[1], 0);
}

TEST(Overflow, AnInfiniteValueStaysInfiniteWhereItIsSeen) {
  std::vector<float> values(100, 1.0F);
  values[80] = std::numeric_limits<float>::infinity();
  const std::vector<float> output = mean_of(values, 80);
  EXPECT_TRUE(std::isinf(output[0]));
  EXPECT_EQ(output[1], 1.0F);
}

}  // namespace
}  // namespace heed::cpu
