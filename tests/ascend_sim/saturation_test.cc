// SPDX-License-Identifier: Apache-2.0
// Saturation mode: what the setting applies to, and what happens to results that are not finite.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "runtime/errors.h"
#include "support/npu.h"

namespace ascend_sim {
namespace {

using atb::infer::ElewiseParam;
using Floats = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class SaturationTest : public AtbTest {
 protected:
  static aclrtFloatOverflowMode mode() {
    auto mode = ACL_RT_OVERFLOW_MODE_UNDEF;
    EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
    return mode;
  }

  // The results of 1 / 0, -1 / 0, 0 / 0 and 3 / 2 on a stream.
  Floats quotients(aclDataType dtype, aclrtStream stream) {
    ElewiseParam param;
    param.elewiseType = ElewiseParam::ELEWISE_REALDIV;
    DeviceTensor x(desc_of(dtype, {4})), y(desc_of(dtype, {4})), out(desc_of(dtype, {4}));
    x.write_floats({1, -1, 0, 3});
    y.write_floats({0, 0, 0, 2});
    EXPECT_EQ(context_->SetExecuteStream(stream), atb::NO_ERROR);
    run(param, pack_of({&x, &y}, {&out}));
    EXPECT_EQ(context_->SetExecuteStream(stream_), atb::NO_ERROR);
    return out.read_floats();
  }

  bool saturates(aclrtStream stream) { return quotients(ACL_FLOAT, stream)[0] != kInfinity; }
};

TEST_F(SaturationTest, OnlyTwoModesAreAccepted) {
  EXPECT_EQ(aclrtGetDeviceSatMode(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetDeviceSatMode(static_cast<aclrtFloatOverflowMode>(3)), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(mode(), ACL_RT_OVERFLOW_MODE_INFNAN);
  std::thread([] {
    auto mode = ACL_RT_OVERFLOW_MODE_UNDEF;
    EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), kNoCurrentContext);
    EXPECT_EQ(aclrtGetDeviceSatMode(&mode), kNoCurrentContext);
  }).join();
}

TEST_F(SaturationTest, TheModeBelongsToTheDeviceAndAppliesToLaterStreams) {
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  // The mode is the same in all threads that use the device, and does not affect another device.
  std::thread([] {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(mode(), ACL_RT_OVERFLOW_MODE_SATURATION);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    ascend_sim_set_faults("device_count=2");
    EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    EXPECT_EQ(mode(), ACL_RT_OVERFLOW_MODE_INFNAN);
    EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
    ascend_sim_clear_faults();
  }).join();
  aclrtStream saturating = nullptr;
  ASSERT_EQ(aclrtCreateStream(&saturating), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_SUCCESS);
  EXPECT_EQ(mode(), ACL_RT_OVERFLOW_MODE_INFNAN);
  EXPECT_TRUE(saturates(saturating));
  EXPECT_FALSE(saturates(stream_));
  EXPECT_EQ(aclrtDestroyStream(saturating), ACL_SUCCESS);
}

TEST_F(SaturationTest, TheModeEndsWithTheDevice) {
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  ascend_sim_set_faults("device_count=2");
  // On a device that has no live objects.
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(mode(), ACL_RT_OVERFLOW_MODE_INFNAN);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(mode(), ACL_RT_OVERFLOW_MODE_SATURATION);
}

TEST_F(SaturationTest, ResultsOfEachFloatingTypeAreClamped) {
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  const auto clamped = [](float largest) { return Floats{largest, -largest, 0, 1.5F}; };
  EXPECT_EQ(quotients(ACL_FLOAT16, stream), clamped(65504));
  EXPECT_EQ(quotients(ACL_BF16, stream), clamped(0x1.FEp127F));
  EXPECT_EQ(quotients(ACL_FLOAT, stream), clamped(std::numeric_limits<float>::max()));
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16, ACL_FLOAT}) {
    const Floats results = quotients(dtype, stream_);
    EXPECT_EQ(results[0], kInfinity);
    EXPECT_EQ(results[1], -kInfinity);
    EXPECT_TRUE(std::isnan(results[2]));
  }
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(SaturationTest, IntegersAreUnchanged) {
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ElewiseParam param;
  param.elewiseType = ElewiseParam::ELEWISE_ADD;
  DeviceTensor x(desc_of(ACL_INT32, {2})), y(desc_of(ACL_INT32, {2})), out(desc_of(ACL_INT32, {2}));
  const std::vector<int32_t> values = {0x7F800000, -1};
  x.write(values);
  y.write(std::vector<int32_t>{0, 0});
  ASSERT_EQ(context_->SetExecuteStream(stream), atb::NO_ERROR);
  run(param, pack_of({&x, &y}, {&out}));
  EXPECT_EQ(out.read<int32_t>(), values);
  ASSERT_EQ(context_->SetExecuteStream(stream_), atb::NO_ERROR);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

}  // namespace
}  // namespace ascend_sim
