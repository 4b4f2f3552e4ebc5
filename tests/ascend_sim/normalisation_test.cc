// SPDX-License-Identifier: Apache-2.0
// Softmax, LayerNorm, RmsNorm and Activation.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/npu.h"

namespace ascend_sim {
namespace {

using namespace atb::infer;
using Floats = std::vector<float>;

class NormalisationTest : public AtbTest {
 protected:
  template <class Param>
  Floats of_one(const Param& param, const atb::TensorDesc& desc, const Floats& values) {
    DeviceTensor x(desc), out(desc);
    x.write_floats(values);
    run(param, pack_of({&x}, {&out}));
    return out.read_floats();
  }

  template <class Param>
  atb::Status setup_of(const Param& param, const atb::VariantPack& pack) {
    atb::Operation* const operation = create(param);
    const atb::Status code = set_up(operation, pack);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    return code;
  }
};

TEST_F(NormalisationTest, SoftmaxGoesOverItsAxesTogether) {
  SoftmaxParam param;
  param.axes = {-1};
  EXPECT_EQ(of_one(param, desc_of(ACL_FLOAT, {2, 2}), {0, 0, 100, -100}), (Floats{0.5F, 0.5F, 1, 0}));
  param.axes = {0};
  EXPECT_EQ(of_one(param, desc_of(ACL_FLOAT, {2, 2}), {0, 7, 0, 7}), Floats(4, 0.5F));
  param.axes = {0, 1};
  EXPECT_EQ(of_one(param, desc_of(ACL_BF16, {2, 2}), {3, 3, 3, 3}), Floats(4, 0.25F));
}

TEST_F(NormalisationTest, SoftmaxNeedsConsecutiveAxesOfTheInput) {
  const auto code = [this](const atb::SVector<int64_t>& axes) {
    SoftmaxParam param;
    param.axes = axes;
    return setup_of(param, pack_of_descs({desc_of(ACL_FLOAT, {2, 3, 4})}, {desc_of(ACL_FLOAT, {2, 3, 4})}));
  };
  EXPECT_EQ(code({1, 2}), atb::NO_ERROR);
  for (const atb::SVector<int64_t>& axes :
       {atb::SVector<int64_t>{}, atb::SVector<int64_t>{0, 2}, atb::SVector<int64_t>{-1, 0}, atb::SVector<int64_t>{3},
        atb::SVector<int64_t>{-2}})
    EXPECT_EQ(code(axes), atb::ERROR_INVALID_PARAM);
}

TEST_F(NormalisationTest, LayerNormGoesOverTheAxesOfGamma) {
  LayerNormParam param;
  param.layerType = LayerNormParam::LAYER_NORM_NORM;
  param.normParam.beginNormAxis = 1;
  DeviceTensor x(desc_of(ACL_FLOAT, {2, 2})), gamma(desc_of(ACL_FLOAT, {2})), beta(desc_of(ACL_FLOAT, {2}));
  DeviceTensor out(desc_of(ACL_FLOAT, {2, 2}));
  x.write_floats({1, 3, 10, 10});
  gamma.write_floats({2, 2});
  beta.write_floats({0, 1});
  run(param, pack_of({&x, &gamma, &beta}, {&out}));
  const Floats results = out.read_floats();
  // The variance is 1, so that epsilon has an effect.
  const float unit = 1 / std::sqrt(1.00001F);
  EXPECT_FLOAT_EQ(results[0], -2 * unit);
  EXPECT_FLOAT_EQ(results[1], 2 * unit + 1);
  EXPECT_EQ(results[2], 0);
  EXPECT_EQ(results[3], 1);
}

TEST_F(NormalisationTest, LayerNormNeedsAGammaThatFits) {
  LayerNormParam param;
  param.layerType = LayerNormParam::LAYER_NORM_NORM;
  const atb::TensorDesc x = desc_of(ACL_FLOAT, {2, 3});
  const auto code = [&](std::initializer_list<int64_t> shape) {
    const atb::TensorDesc gamma = desc_of(ACL_FLOAT, shape);
    return setup_of(param, pack_of_descs({x, gamma, gamma}, {x}));
  };
  EXPECT_EQ(code({3}), atb::ERROR_INVALID_PARAM);
  param.normParam.beginNormAxis = -1;
  EXPECT_EQ(code({3}), atb::NO_ERROR);
  EXPECT_EQ(code({4}), atb::ERROR_INVALID_TENSOR_SIZE);
  EXPECT_EQ(code({1, 2, 3}), atb::ERROR_INVALID_TENSOR_DIM);
  param.normParam.beginNormAxis = 0;
  EXPECT_EQ(code({1, 3}), atb::ERROR_INVALID_TENSOR_DIM);
  expect_violation("gamma or beta has not the shape");
  param.normParam.epsilon = 0;
  atb::Operation* operation = nullptr;
  EXPECT_EQ(atb::CreateOperation(param, &operation), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(atb::CreateOperation(LayerNormParam(), &operation), atb::ERROR_INVALID_PARAM);
}

TEST_F(NormalisationTest, AnEpsilonOfLayerNormNearThatOfAnEarlierLaunchIsReplacedByIt) {
  DeviceTensor x(desc_of(ACL_FLOAT, {7, 2})), weight(desc_of(ACL_FLOAT, {2})), out(desc_of(ACL_FLOAT, {7, 2}));
  Floats values(14, 0.0F);
  for (size_t i = 0; i < 14; i += 2) values[i] = 0.002F;
  x.write_floats(values);
  weight.write_floats({1, 1});
  const auto first = [&](float epsilon) {
    LayerNormParam param;
    param.layerType = LayerNormParam::LAYER_NORM_NORM;
    param.normParam.epsilon = epsilon;
    param.normParam.beginNormAxis = -1;
    run(param, pack_of({&x, &weight, &weight}, {&out}));
    return out.read_floats()[0];
  };
  const float small = first(1e-6F);
  EXPECT_EQ(first(1.9e-6F), small);
  EXPECT_LT(first(1e-5F), small);
}

RmsNormParam rms_norm(float epsilon) {
  RmsNormParam param;
  param.layerType = RmsNormParam::RMS_NORM_NORM;
  param.normParam.epsilon = epsilon;
  return param;
}

TEST_F(NormalisationTest, RmsNormDividesByTheRootMeanSquareOfTheLastAxis) {
  DeviceTensor x(desc_of(ACL_BF16, {2, 16})), gamma(desc_of(ACL_BF16, {16})), out(desc_of(ACL_BF16, {2, 16}));
  Floats values(32, 3.0F);
  for (size_t i = 16; i < 32; ++i) values[i] = i % 2 == 0 ? 0.0F : 2.0F;
  Floats weights(16, 2.0F);
  weights[1] = 4.0F;
  x.write_floats(values);
  gamma.write_floats(weights);
  run(rms_norm(7.0F), pack_of({&x, &gamma}, {&out}));
  const Floats results = out.read_floats();
  // 3 / sqrt(9 + 7), and 2 / sqrt(2 + 7).
  EXPECT_EQ(results[0], 1.5F);
  EXPECT_EQ(results[1], 3.0F);
  EXPECT_EQ(results[16], 0.0F);
  EXPECT_EQ(results[17], atb_library::round_to(ACL_BF16, 2.0F / 3.0F * 4.0F));
}

// A launch of the same shapes uses the epsilon of an earlier one that differs by less than 1e-6.
TEST_F(NormalisationTest, AnEpsilonNearThatOfAnEarlierLaunchIsReplacedByIt) {
  DeviceTensor x(desc_of(ACL_FLOAT16, {7, 16})), gamma(desc_of(ACL_FLOAT16, {16})), out(desc_of(ACL_FLOAT16, {7, 16}));
  x.write_floats(Floats(112, 0.001F));
  gamma.write_floats(Floats(16, 1.0F));
  const auto first = [&](float epsilon) {
    run(rms_norm(epsilon), pack_of({&x, &gamma}, {&out}));
    return out.read_floats()[0];
  };
  const float small = first(1e-6F);
  EXPECT_EQ(first(1.9e-6F), small);
  EXPECT_LT(first(1e-5F), small);
}

TEST_F(NormalisationTest, RmsNormChecksShapesAndParameters) {
  const RmsNormParam good = rms_norm(1e-5F);
  const auto half = [](std::initializer_list<int64_t> shape) { return desc_of(ACL_FLOAT16, shape); };
  const auto code = [&](std::initializer_list<int64_t> x, std::initializer_list<int64_t> gamma,
                        std::initializer_list<int64_t> out) {
    return setup_of(good, pack_of_descs({half(x), half(gamma)}, {half(out)}));
  };
  EXPECT_EQ(code({3, 32}, {32}, {3, 32}), atb::NO_ERROR);
  EXPECT_EQ(code({3, 32}, {1, 32}, {3, 32}), atb::NO_ERROR);
  EXPECT_EQ(code({3, 32}, {16}, {3, 32}), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code({3, 32}, {3, 32}, {3, 32}), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code({3, 24}, {24}, {3, 24}), atb::ERROR_INVALID_TENSOR_SIZE);
  EXPECT_EQ(code({3, 32}, {32}, {1, 3, 32}), atb::ERROR_INVALID_TENSOR_SIZE);
  EXPECT_EQ(code({3, 32}, {32}, {2, 32}), atb::ERROR_INVALID_TENSOR_DIM);
  const atb::TensorDesc wide = desc_of(ACL_FLOAT, {16});
  EXPECT_EQ(setup_of(good, pack_of_descs({wide, wide}, {wide})), atb::ERROR_INVALID_TENSOR_INI_MATCH);

  atb::Operation* operation = nullptr;
  EXPECT_EQ(atb::CreateOperation(RmsNormParam(), &operation), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(atb::CreateOperation(rms_norm(0), &operation), atb::ERROR_INVALID_PARAM);
  RmsNormParam quantised = good;
  quantised.normParam.quantType = QUANT_INT8;
  EXPECT_EQ(atb::CreateOperation(quantised, &operation), atb::ERROR_INVALID_PARAM);
  expect_violation("is not simulated");
  // Found by the tiling.
  DeviceTensor x(half({1, 16})), gamma(half({16})), out(half({1, 16}));
  EXPECT_EQ(try_run(rms_norm(-1.0F), pack_of({&x, &gamma}, {&out})), atb::ERROR_INVALID_PARAM);
}

TEST_F(NormalisationTest, ActivationsAreReluGeluAndSwish) {
  ActivationParam param;
  param.activationType = ACTIVATION_RELU;
  EXPECT_EQ(of_one(param, desc_of(ACL_BF16, {3}), {-1, 0, 2}), (Floats{0, 0, 2}));
  param.activationType = ACTIVATION_GELU;
  param.geluMode = ActivationParam::NONE_MODE;
  EXPECT_NEAR(of_one(param, desc_of(ACL_FLOAT, {1}), {1})[0], 0.8413447F, 1e-6);
  param.geluMode = ActivationParam::TANH_MODE;
  EXPECT_NEAR(of_one(param, desc_of(ACL_FLOAT, {1}), {1})[0], 0.8411920F, 1e-6);
  param.activationType = ACTIVATION_SWISH;
  EXPECT_NEAR(of_one(param, desc_of(ACL_FLOAT16, {1}), {1})[0], 0.7310586F, 1e-3);
  param.scale = 1.702F;
  EXPECT_NEAR(of_one(param, desc_of(ACL_FLOAT16, {1}), {1})[0], 0.8457958F, 1e-3);
}

TEST_F(NormalisationTest, AScaleOfSwishNearThatOfAnEarlierLaunchIsReplacedByIt) {
  ActivationParam param;
  param.activationType = ACTIVATION_SWISH;
  // The second scale by itself would give 29640, rounded to F16.
  param.scale = 4e-7F;
  EXPECT_EQ(of_one(param, desc_of(ACL_FLOAT16, {2}), {60000, 60000})[0], 30352);
  param.scale = -4e-7F;
  EXPECT_EQ(of_one(param, desc_of(ACL_FLOAT16, {2}), {60000, 60000})[0], 30352);
}

TEST_F(NormalisationTest, ActivationsAcceptOnlyTheirTypes) {
  ActivationParam param;
  param.activationType = ACTIVATION_RELU;
  const atb::TensorDesc half = desc_of(ACL_FLOAT16, {3});
  EXPECT_EQ(setup_of(param, pack_of_descs({half}, {half})), atb::ERROR_INVALID_TENSOR_INI_MATCH);
  param.activationType = ACTIVATION_GELU;
  EXPECT_EQ(setup_of(param, pack_of_descs({half}, {half})), atb::NO_ERROR);
  EXPECT_EQ(setup_of(param, pack_of_descs({half}, {desc_of(ACL_FLOAT16, {4})})), atb::ERROR_INVALID_TENSOR_DIM);
  param.dim = 0;
  atb::Operation* operation = nullptr;
  EXPECT_EQ(atb::CreateOperation(param, &operation), atb::ERROR_INVALID_PARAM);
  param.dim = -1;
  param.activationType = ACTIVATION_SWISH;
  const atb::TensorDesc wide = desc_of(ACL_FLOAT, {3});
  EXPECT_EQ(setup_of(param, pack_of_descs({wide}, {wide})), atb::ERROR_INVALID_TENSOR_INI_MATCH);
  param.activationType = ACTIVATION_SIGMOID;
  EXPECT_EQ(atb::CreateOperation(param, &operation), atb::ERROR_INVALID_PARAM);
  expect_violation("is not simulated");
}

}  // namespace
}  // namespace ascend_sim
