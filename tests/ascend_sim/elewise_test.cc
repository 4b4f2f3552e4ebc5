// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "support/npu.h"

namespace ascend_sim {
namespace {

using atb::infer::ElewiseParam;
using Floats = std::vector<float>;

ElewiseParam of_type(ElewiseParam::ElewiseType type) {
  ElewiseParam param;
  param.elewiseType = type;
  return param;
}

class ElewiseTest : public AtbTest {
 protected:
  Floats of_one(const ElewiseParam& param, aclDataType dtype, const Floats& values) {
    const auto n = static_cast<int64_t>(values.size());
    DeviceTensor x(desc_of(dtype, {n})), out(desc_of(dtype, {n}));
    x.write_floats(values);
    run(param, pack_of({&x}, {&out}));
    return out.read_floats();
  }

  Floats of_two(const ElewiseParam& param, aclDataType dtype, const Floats& a, const Floats& b) {
    const auto n = static_cast<int64_t>(a.size());
    DeviceTensor x(desc_of(dtype, {n})), y(desc_of(dtype, {n})), out(desc_of(dtype, {n}));
    x.write_floats(a);
    y.write_floats(b);
    run(param, pack_of({&x, &y}, {&out}));
    return out.read_floats();
  }
};

TEST_F(ElewiseTest, CastRoundsToNearestEven) {
  ElewiseParam param = of_type(ElewiseParam::ELEWISE_CAST);
  param.outTensorType = ACL_FLOAT16;
  DeviceTensor x(desc_of(ACL_FLOAT, {4})), half(desc_of(ACL_FLOAT16, {4})), bf16(desc_of(ACL_BF16, {4}));
  x.write_floats({1, 2049, 2051, -1e30F});
  run(param, pack_of({&x}, {&half}));
  EXPECT_EQ(half.read_floats(), (Floats{1, 2048, 2052, -INFINITY}));
  param.outTensorType = ACL_BF16;
  x.write_floats({1, 257, 259, 1e30F});
  run(param, pack_of({&x}, {&bf16}));
  EXPECT_EQ(bf16.read_floats(), (Floats{1, 256, 260, atb_library::round_to(ACL_BF16, 1e30F)}));
  param.outTensorType = ACL_FLOAT;
  run(param, pack_of({&half}, {&x}));
  EXPECT_EQ(x.read_floats(), (Floats{1, 2048, 2052, -INFINITY}));
}

TEST_F(ElewiseTest, CastIsRefusedForOtherPairsOfTypes) {
  ElewiseParam param = of_type(ElewiseParam::ELEWISE_CAST);
  param.outTensorType = ACL_BF16;
  atb::Operation* const operation = create(param);
  EXPECT_EQ(set_up(operation, pack_of_descs({desc_of(ACL_FLOAT16, {4})}, {desc_of(ACL_BF16, {4})})),
            atb::ERROR_INVALID_TENSOR_INI_MATCH);
  // A pair in the table, but not the one of the parameter.
  EXPECT_EQ(set_up(operation, pack_of_descs({desc_of(ACL_FLOAT, {4})}, {desc_of(ACL_FLOAT16, {4})})),
            atb::ERROR_RT_FAIL);
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
}

TEST_F(ElewiseTest, CastOfIntegers) {
  ElewiseParam param = of_type(ElewiseParam::ELEWISE_CAST);
  param.outTensorType = ACL_INT64;
  DeviceTensor x(desc_of(ACL_INT32, {2})), out(desc_of(ACL_INT64, {2}));
  x.write(std::vector<int32_t>{-5, 7});
  run(param, pack_of({&x}, {&out}));
  EXPECT_EQ(out.read<int64_t>(), (std::vector<int64_t>{-5, 7}));
}

TEST_F(ElewiseTest, OneInput) {
  ElewiseParam scaled = of_type(ElewiseParam::ELEWISE_MULS);
  scaled.mulsParam.varAttr = 0.5F;
  EXPECT_EQ(of_one(scaled, ACL_FLOAT, {1, -3}), (Floats{0.5F, -1.5F}));
  EXPECT_EQ(of_one(of_type(ElewiseParam::ELEWISE_NEG), ACL_BF16, {1, -3}), (Floats{-1, 3}));
  EXPECT_EQ(of_one(of_type(ElewiseParam::ELEWISE_COS), ACL_FLOAT, {0}), (Floats{1}));
  EXPECT_EQ(of_one(of_type(ElewiseParam::ELEWISE_SIN), ACL_FLOAT16, {0}), (Floats{0}));
  EXPECT_EQ(of_one(of_type(ElewiseParam::ELEWISE_TANH), ACL_FLOAT16, {0, 100}), (Floats{0, 1}));
}

TEST_F(ElewiseTest, MulsRoundsItsFactorOnlyForBinary16) {
  ElewiseParam scaled = of_type(ElewiseParam::ELEWISE_MULS);
  scaled.mulsParam.varAttr = 0.1F;
  // 0.1 is 0.09998 in binary16. With the float factor the product would be the next number, 0.7002.
  EXPECT_EQ(of_one(scaled, ACL_FLOAT16, {7}), (Floats{1433 * 0x1p-11F}));
  // 0.1 is 0.1001 in bfloat16, which would give 167.
  EXPECT_EQ(of_one(scaled, ACL_BF16, {13}), (Floats{166 * 0x1p-7F}));
  EXPECT_EQ(of_one(scaled, ACL_FLOAT, {3}), (Floats{3 * 0.1F}));
}

TEST_F(ElewiseTest, AFactorNearThatOfTheLastLaunchIsReplacedByIt) {
  constexpr float kFirst = 0.5F;
  constexpr float kNear = 0.5000009F;
  constexpr float kFar = 0.500002F;
  const auto product = [this](float factor, const Floats& values) {
    ElewiseParam scaled = of_type(ElewiseParam::ELEWISE_MULS);
    scaled.mulsParam.varAttr = factor;
    return of_one(scaled, ACL_FLOAT, values)[0];
  };
  const Floats one = {1};
  const Floats two = {1, 1};
  EXPECT_EQ(product(kFirst, one), kFirst);
  EXPECT_EQ(product(kNear, one), kFirst);
  EXPECT_EQ(product(kFar, one), kFar);
  // The factor is compared with the last launch, not with the first.
  EXPECT_EQ(product(kNear, one), kNear);
  EXPECT_EQ(product(kFirst, one), kNear);
  // Not for another shape, nor for the same shape with another launch in between: one launch is kept.
  EXPECT_EQ(product(kFirst, two), kFirst);
  EXPECT_EQ(product(kNear, one), kNear);
  ElewiseParam cosine = of_type(ElewiseParam::ELEWISE_COS);
  cosine.mulsParam.varAttr = kNear;
  (void)of_one(cosine, ACL_FLOAT, one);
  EXPECT_EQ(product(kFirst, one), kFirst);
  // Each thread keeps its own.
  aclrtContext current = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  std::thread([&] {
    EXPECT_EQ(aclrtSetCurrentContext(current), ACL_SUCCESS);
    EXPECT_EQ(product(kNear, one), kNear);
  }).join();
  EXPECT_EQ(product(kNear, one), kFirst);
}

TEST_F(ElewiseTest, TwoInputs) {
  EXPECT_EQ(of_two(of_type(ElewiseParam::ELEWISE_ADD), ACL_FLOAT16, {1, 2048}, {2, 1}), (Floats{3, 2048}));
  EXPECT_EQ(of_two(of_type(ElewiseParam::ELEWISE_SUB), ACL_BF16, {1, 2}, {2, 1}), (Floats{-1, 1}));
  EXPECT_EQ(of_two(of_type(ElewiseParam::ELEWISE_MUL), ACL_BF16, {3, 2}, {2, 1}), (Floats{6, 2}));
  EXPECT_EQ(of_two(of_type(ElewiseParam::ELEWISE_REALDIV), ACL_FLOAT, {3, 2}, {2, 0}), (Floats{1.5F, INFINITY}));
}

TEST_F(ElewiseTest, ShapesAreBroadcast) {
  DeviceTensor x(desc_of(ACL_FLOAT, {2, 1, 2})), y(desc_of(ACL_FLOAT, {3, 1})), out(desc_of(ACL_FLOAT, {2, 3, 2}));
  x.write_floats({1, 2, 3, 4});
  y.write_floats({10, 20, 30});
  run(of_type(ElewiseParam::ELEWISE_ADD), pack_of({&x, &y}, {&out}));
  EXPECT_EQ(out.read_floats(), (Floats{11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34}));
}

TEST_F(ElewiseTest, IntegersAndBooleans) {
  DeviceTensor a(desc_of(ACL_INT64, {2})), b(desc_of(ACL_INT64, {2})), out(desc_of(ACL_INT64, {2}));
  DeviceTensor truth(desc_of(ACL_INT8, {2})), other(desc_of(ACL_INT8, {2})), result(desc_of(ACL_INT8, {2}));
  a.write(std::vector<int64_t>{int64_t{1} << 40, 5});
  b.write(std::vector<int64_t>{1, 7});
  run(of_type(ElewiseParam::ELEWISE_SUB), pack_of({&a, &b}, {&out}));
  EXPECT_EQ(out.read<int64_t>(), (std::vector<int64_t>{(int64_t{1} << 40) - 1, -2}));
  run(of_type(ElewiseParam::ELEWISE_LESS), pack_of({&a, &b}, {&truth}));
  EXPECT_EQ(truth.read<int8_t>(), (std::vector<int8_t>{0, 1}));
  run(of_type(ElewiseParam::ELEWISE_LOGICAL_NOT), pack_of({&truth}, {&other}));
  EXPECT_EQ(other.read<int8_t>(), (std::vector<int8_t>{1, 0}));
  run(of_type(ElewiseParam::ELEWISE_LOGICAL_OR), pack_of({&truth, &other}, {&result}));
  EXPECT_EQ(result.read<int8_t>(), (std::vector<int8_t>{1, 1}));
  run(of_type(ElewiseParam::ELEWISE_LOGICAL_AND), pack_of({&truth, &other}, {&result}));
  EXPECT_EQ(result.read<int8_t>(), (std::vector<int8_t>{0, 0}));
}

TEST_F(ElewiseTest, ComparisonsGiveInt8) {
  DeviceTensor a(desc_of(ACL_FLOAT16, {3})), b(desc_of(ACL_FLOAT16, {3})), out(desc_of(ACL_INT8, {3}));
  a.write_floats({1, 2, 3});
  b.write_floats({2, 2, 2});
  run(of_type(ElewiseParam::ELEWISE_LESS), pack_of({&a, &b}, {&out}));
  EXPECT_EQ(out.read<int8_t>(), (std::vector<int8_t>{1, 0, 0}));
  run(of_type(ElewiseParam::ELEWISE_GREATER), pack_of({&a, &b}, {&out}));
  EXPECT_EQ(out.read<int8_t>(), (std::vector<int8_t>{0, 0, 1}));
  run(of_type(ElewiseParam::ELEWISE_EQUAL), pack_of({&a, &b}, {&out}));
  EXPECT_EQ(out.read<int8_t>(), (std::vector<int8_t>{0, 1, 0}));
}

TEST_F(ElewiseTest, TypesThatAreNotSimulatedAreReported) {
  atb::Operation* operation = nullptr;
  EXPECT_EQ(atb::CreateOperation(of_type(ElewiseParam::ELEWISE_QUANT), &operation), atb::ERROR_INVALID_PARAM);
  expect_violation("ElewiseOperation of type 6 is not simulated");
  EXPECT_EQ(atb::CreateOperation(of_type(ElewiseParam::ELEWISE_UNDEFINED), &operation), atb::ERROR_INVALID_PARAM);
}

}  // namespace
}  // namespace ascend_sim
