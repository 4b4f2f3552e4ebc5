// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "support/npu.h"

namespace ascend_sim {
namespace {

using atb::infer::LinearParam;

class LinearTest : public AtbTest {
 protected:
  // Of small whole numbers, which every order of summation adds up exactly.
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

TEST_F(LinearTest, TransposedOrNotTheSameProductIsMade) {
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

TEST_F(LinearTest, TheProductIsRoundedBeforeTheBiasIsAdded) {
  LinearParam param;
  // 2049 has no binary16: the product becomes 2048, and with the bias 2050, where one rounding would make 2052 of 2051.
  DeviceTensor x(desc_of(ACL_FLOAT16, {1, 2})), weight(desc_of(ACL_FLOAT16, {1, 2}));
  DeviceTensor bias(desc_of(ACL_FLOAT16, {1})), out(desc_of(ACL_FLOAT16, {1, 1}));
  x.write_floats({2048, 1});
  weight.write_floats({1, 1});
  bias.write_floats({2});
  run(param, pack_of({&x, &weight, &bias}, {&out}));
  EXPECT_EQ(out.read_floats(), std::vector<float>{2050});
}

}  // namespace
}  // namespace ascend_sim
