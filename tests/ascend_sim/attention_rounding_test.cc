// SPDX-License-Identifier: Apache-2.0
// Checks that SelfAttentionOperation rounds to 16 bits in the known steps and in no others. Each result is exact, and
// would differ with one rounding fewer or more.
#include <gtest/gtest.h>

#include <cmath>

#include "support/attention.h"

namespace ascend_sim {
namespace {

// The first number whose next number in the type is 2 larger.
float first_gap(aclDataType dtype) { return dtype == ACL_FLOAT16 ? 2048 : 256; }

// Each type with each kernel.
struct Kernel {
  aclDataType dtype;
  Param::KernelType type;
  bool is_half_kernel() const { return dtype == ACL_FLOAT16 && type == Param::KERNELTYPE_DEFAULT; }
};
constexpr Kernel kKernels[] = {{ACL_FLOAT16, Param::KERNELTYPE_HIGH_PRECISION},
                               {ACL_FLOAT16, Param::KERNELTYPE_DEFAULT},
                               {ACL_BF16, Param::KERNELTYPE_HIGH_PRECISION},
                               {ACL_BF16, Param::KERNELTYPE_DEFAULT}};

class AttentionRoundingTest : public AttentionTest {
 protected:
  // Attention with equal scores: the mean of all values.
  Floats mean(const Kernel& kernel, const Floats& values) {
    Param param = encoder();
    param.kernelType = kernel.type;
    return compute(equal_scores(param, kernel.dtype, values));
  }
};

TEST_F(AttentionRoundingTest, ProbabilitiesAreRoundedToTheType) {
  for (const Kernel& kernel : kKernels) {
    // The probabilities are 1 and exp(-1). The second has no exact 16-bit value. The first key's value is minus that
    // rounded number, so the result is 0 only if the probability is rounded.
    Problem problem = equal_scores(encoder(), kernel.dtype, {-std::exp(-1.0F), 1});
    problem.param.kernelType = kernel.type;
    problem.query = {1};
    problem.key = {0, -1};
    EXPECT_EQ(compute(problem), Floats{0}) << kernel.dtype << " " << kernel.type;
  }
}

TEST_F(AttentionRoundingTest, ProbabilitiesAreRoundedForTheValuesButNotForTheirSum) {
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    // All probabilities except the first are one half plus 0.45 of the distance to the next number, so they are rounded
    // to one half. The values are 1, so the result is the sum of the rounded probabilities divided by the sum of the
    // exact ones: 0.9 units below 1, where a unit is the distance to the next number.
    const float unit = 1 / first_gap(dtype);
    Problem problem = equal_scores(encoder(), dtype, Floats(1001, 1));
    problem.query = {1};
    problem.key[0] = 0;
    problem.param.qkScale = std::log(0.5F * (1 + 0.9F * unit));
    EXPECT_EQ(compute(problem), Floats{1 - unit}) << dtype;
  }
}

TEST_F(AttentionRoundingTest, ResultsAreRoundedToNearestEven) {
  for (const Kernel& kernel : kKernels) {
    const float gap = first_gap(kernel.dtype);
    // The means are odd integers, half-way between two numbers of the type.
    EXPECT_EQ(mean(kernel, {gap, gap + 2}), Floats{gap}) << kernel.dtype << " " << kernel.type;
    EXPECT_EQ(mean(kernel, {gap + 2, gap + 4}), Floats{gap + 4}) << kernel.dtype << " " << kernel.type;
  }
}

TEST_F(AttentionRoundingTest, ResultsAreRoundedOnceAndByTheBinary16KernelAlsoBeforeTheDivision) {
  for (const Kernel& kernel : kKernels) {
    // The sum is gap + 1, which would be rounded to gap.
    const float gap = first_gap(kernel.dtype);
    const float sum = kernel.is_half_kernel() ? gap : gap + 1;
    EXPECT_EQ(mean(kernel, {gap, 1, 0, 0, 0}), Floats{atb_library::round_to(kernel.dtype, sum / 5)})
        << kernel.dtype << " " << kernel.type;
    EXPECT_NE(atb_library::round_to(kernel.dtype, gap / 5), atb_library::round_to(kernel.dtype, (gap + 1) / 5));
  }
}

TEST_F(AttentionRoundingTest, TheBinary16KernelAlsoRoundsTheSumOfProbabilities) {
  // 2049 keys; all except one have the value 1.
  Floats values(2049, 1);
  values[0] = 0;
  EXPECT_EQ(mean({ACL_FLOAT16, Param::KERNELTYPE_DEFAULT}, values), Floats{1});
  EXPECT_EQ(mean({ACL_FLOAT16, Param::KERNELTYPE_HIGH_PRECISION}, values), Floats{1 - 0x1p-11F});
}

}  // namespace
}  // namespace ascend_sim
