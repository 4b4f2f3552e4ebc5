// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "support/npu.h"

namespace ascend_sim {
namespace {

using atb::infer::LinearParam;

class LinearTest : public AtbTest {
 protected:
  // Small integers, whose sum is exact in every order.
  std::vector<float> compute(const LinearParam& param, const atb::TensorDesc& x_desc, const std::vector<float>& x,
                             const atb::TensorDesc& weight_desc, const std::vector<float>& weight,
                             const atb::TensorDesc& out_desc) {
    DeviceTensor x_tensor(x_desc), weight_tensor(weight_desc), out_tensor(out_desc);
    x_tensor.write_floats(x);
    weight_tensor.write_floats(weight);
    run(param, pack_of({&x_tensor, &weight_tensor}, {&out_tensor}));
    return out_tensor.read_floats();
  }
};

TEST_F(LinearTest, TransposingAnInputDoesNotChangeTheProduct) {
  LinearParam param;
  param.hasBias = false;
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    const auto desc = [dtype](std::initializer_list<int64_t> shape) { return desc_of(dtype, shape); };
    param.transposeA = false;
    param.transposeB = true;
    EXPECT_EQ(compute(param, desc({2, 3}), {1, 2, 3, 4, 5, 6}, desc({2, 3}), {-1, 1, 1, 1, -1, 0}, desc({2, 2})),
              (std::vector<float>{4, -1, 7, -1}));
    param.transposeB = false;
    EXPECT_EQ(compute(param, desc({2, 3}), {1, 2, 3, 4, 5, 6}, desc({3, 2}), {-1, 1, 1, -1, 1, 0}, desc({2, 2})),
              (std::vector<float>{4, -1, 7, -1}));
    param.transposeA = true;
    EXPECT_EQ(compute(param, desc({3, 2}), {1, 4, 2, 5, 3, 6}, desc({3, 2}), {-1, 1, 1, -1, 1, 0}, desc({2, 2})),
              (std::vector<float>{4, -1, 7, -1}));
  }
}

TEST_F(LinearTest, BatchesShareAWeightOrHaveOneEach) {
  LinearParam param;
  param.hasBias = false;
  EXPECT_EQ(compute(param, desc_of(ACL_BF16, {2, 1, 2}), {1, 2, 3, 4}, desc_of(ACL_BF16, {1, 2}), {1, 1},
                    desc_of(ACL_BF16, {2, 1, 1})),
            (std::vector<float>{3, 7}));
  EXPECT_EQ(compute(param, desc_of(ACL_BF16, {2, 1, 2}), {1, 2, 3, 4}, desc_of(ACL_BF16, {2, 1, 2}), {1, 1, 1, -1},
                    desc_of(ACL_BF16, {2, 1, 1})),
            (std::vector<float>{3, -1}));
}

// From `gap` on, the type has no odd integers. So the sum of such numbers shows how often it was rounded.
class LinearRoundingTest : public LinearTest, public ::testing::WithParamInterface<aclDataType> {
 protected:
  // The sum of `terms` and the bias, computed as a product with ones.
  float sum(const std::vector<float>& terms, aclDataType bias_dtype, float bias) {
    const auto k = static_cast<int64_t>(terms.size());
    DeviceTensor x(desc_of(GetParam(), {1, k})), weight(desc_of(GetParam(), {1, k}));
    DeviceTensor bias_tensor(desc_of(bias_dtype, {1})), out(desc_of(GetParam(), {1, 1}));
    x.write_floats(terms);
    weight.write_floats(std::vector<float>(terms.size(), 1));
    bias_tensor.write_floats({bias});
    run(LinearParam(), pack_of({&x, &weight, &bias_tensor}, {&out}));
    return out.read_floats()[0];
  }

  float sum(const std::vector<float>& terms) {
    LinearParam param;
    param.hasBias = false;
    const auto k = static_cast<int64_t>(terms.size());
    return compute(param, desc_of(GetParam(), {1, k}), terms, desc_of(GetParam(), {1, k}),
                   std::vector<float>(terms.size(), 1), desc_of(GetParam(), {1, 1}))[0];
  }

  const float gap_ = GetParam() == ACL_FLOAT16 ? 2048 : 256;
};

TEST_P(LinearRoundingTest, TheProductIsRoundedToNearestEven) {
  EXPECT_EQ(sum({gap_, 1}), gap_);
  EXPECT_EQ(sum({gap_, 3}), gap_ + 4);
}

TEST_P(LinearRoundingTest, TheProductIsRoundedOnce) {
  // With a rounding after each term it would stay gap.
  EXPECT_EQ(sum({gap_, 1, 1}), gap_ + 2);
}

TEST_P(LinearRoundingTest, TheProductIsRoundedBeforeABiasOfTheTypeIsAdded) {
  // gap + 1 is rounded to gap. With a single rounding, gap + 3 would become gap + 4.
  EXPECT_EQ(sum({gap_, 1}, GetParam(), 2), gap_ + 2);
}

TEST_P(LinearRoundingTest, TheSumWithTheBiasIsRoundedAgain) {
  EXPECT_EQ(sum({gap_, 0}, GetParam(), 1), gap_);
  EXPECT_EQ(sum({gap_, 0}, GetParam(), 3), gap_ + 4);
}

TEST_P(LinearRoundingTest, AFloatBiasIsAddedBeforeTheOnlyRounding) {
  EXPECT_EQ(sum({gap_, 1}, ACL_FLOAT, 2), gap_ + 4);
}

INSTANTIATE_TEST_SUITE_P(Types, LinearRoundingTest, ::testing::Values(ACL_FLOAT16, ACL_BF16));

}  // namespace
}  // namespace ascend_sim
