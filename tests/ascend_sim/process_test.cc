// SPDX-License-Identifier: Apache-2.0
// The process, its devices, and the contexts of its threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>

#include "runtime/errors.h"
#include "support/npu.h"

namespace ascend_sim {
namespace {

TEST(ProcessTest, NothingWorksBeforeAclInit) {
  void* address = nullptr;
  uint32_t count = 0;
  EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclrtMalloc(&address, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(recent_error(), "100001: aclrtGetDeviceCount before aclInit");
  // Except for functions that need no device.
  EXPECT_STREQ(aclrtGetSocName(), "Ascend910B4");
}

TEST(ProcessTest, RepeatedInitialisationIsReportedAndCounted) {
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  uint64_t left = 9;
  EXPECT_EQ(aclFinalizeReference(&left), ACL_SUCCESS);
  EXPECT_EQ(left, 1U);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclFinalizeReference(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
}

TEST(ProcessTest, AclFinalizeEndsItForEverybody) {
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(ProcessTest, LeaksAreWrittenToStderrAtTheEnd) {
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  aclrtContext context = nullptr;
  void* device = nullptr;
  void* host = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  ASSERT_EQ(aclrtMalloc(&device, 100, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocHost(&host, 200), ACL_SUCCESS);
  atb::Context* atb_context = nullptr;
  ASSERT_EQ(atb::CreateContext(&atb_context), atb::NO_ERROR);
  atb::Operation* operation = nullptr;
  ASSERT_EQ(atb::CreateOperation(atb::infer::LinearParam(), &operation), atb::NO_ERROR);
  EXPECT_EQ(ascend_sim_leaks(nullptr, 0), 6U);
  testing::internal::CaptureStderr();
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  const std::string text = testing::internal::GetCapturedStderr();
  for (const char* const part : {"6 objects are alive", "stream", "event", "device memory: 100 bytes",
                                 "host memory: 200 bytes", "context of ATB", "operation of ATB: LinearOperation"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;

  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  EXPECT_EQ(ascend_sim_leaks(nullptr, 0), 7U);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyContext(atb_context), atb::NO_ERROR);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
  EXPECT_EQ(leaks(), "");
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

class ThreadsTest : public AclTest {
 protected:
  template <class Work>
  static void on_another_thread(const Work& work) {
    std::thread(work).join();
  }
};

TEST_F(ThreadsTest, AThreadHasNoContextUntilItSetsOne) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  on_another_thread([&] {
    void* address = nullptr;
    int32_t device = -1;
    aclrtContext own = nullptr;
    EXPECT_EQ(aclrtMalloc(&address, 1, ACL_MEM_MALLOC_HUGE_FIRST), kNoCurrentContext);
    EXPECT_EQ(aclrtGetDevice(&device), kNoCurrentContext);
    EXPECT_EQ(aclrtGetCurrentContext(&own), kNoCurrentContext);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), kNoCurrentContext);
    EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
    EXPECT_EQ(device, 0);
  });
}

TEST_F(ThreadsTest, SetDeviceIsCountedAcrossThreads) {
  on_another_thread([] { EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS); });
  EXPECT_EQ(ascend_sim_count("devices_set"), 2U);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(ascend_sim_count("devices_set"), 1U);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  // The fixture makes the last reset, which ends the default context.
}

TEST_F(ThreadsTest, TheLastResetEndsTheDefaultContext) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(context), kInvalidValue);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetCurrentContext(&context), kNoCurrentContext);
  EXPECT_EQ(aclrtSetCurrentContext(context), kInvalidHandle);
  EXPECT_EQ(aclrtResetDevice(0), kInvalidValue);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
}

TEST_F(ThreadsTest, ACreatedContextBecomesCurrentAndItsEndLeavesNone) {
  aclrtContext before = nullptr, created = nullptr, current = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&before), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&created, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  EXPECT_EQ(current, created);
  EXPECT_EQ(aclrtDestroyContext(created), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetCurrentContext(&current), kNoCurrentContext);
  EXPECT_EQ(aclrtDestroyContext(created), kInvalidHandle);
  EXPECT_EQ(aclrtSetCurrentContext(before), ACL_SUCCESS);
}

TEST_F(ThreadsTest, TheErrorTextIsTheThreadsOwnAndIsClearedWhenRead) {
  EXPECT_EQ(aclrtSetDevice(7), kInvalidDevice);
  on_another_thread([] { EXPECT_EQ(aclGetRecentErrMsg(), nullptr); });
  EXPECT_EQ(recent_error(), "107001: aclrtSetDevice: the device is 7, but there are 1");
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST_F(ThreadsTest, TheProgramRunsOnTheHost) {
  aclrtRunMode mode = ACL_DEVICE;
  EXPECT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_HOST);
}

TEST(TypesTest, ConversionsFollowTheVendorNotIeee754) {
  EXPECT_EQ(aclFloatToFloat16(1.0F), 0x3C00);
  EXPECT_EQ(aclFloatToFloat16(-2.5F), 0xC100);
  EXPECT_EQ(aclFloatToFloat16(0x1p-24F), 0x0001);
  EXPECT_EQ(aclFloatToFloat16(0x1p-14F), 0x0400);
  EXPECT_EQ(aclFloatToFloat16(2047.5F), 0x6800);
  EXPECT_EQ(aclFloatToFloat16(std::numeric_limits<float>::infinity()), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(std::numeric_limits<float>::quiet_NaN()) & 0x7FFF, 0x7BFF);
  EXPECT_EQ(aclFloat16ToFloat(0x7C00), 65536.0F);
  EXPECT_EQ(aclFloat16ToFloat(0xC100), -2.5F);
  EXPECT_EQ(aclFloat16ToFloat(0x0001), 0x1p-24F);
  for (uint32_t bits = 0; bits < 0x7C00; ++bits)
    ASSERT_EQ(aclFloatToFloat16(aclFloat16ToFloat(static_cast<aclFloat16>(bits))), bits);
}

TEST(TypesTest, TheChipsOwnConversionsFollowIeee754) {
  using namespace atb_library;
  for (uint32_t bits = 0; bits <= 0x7C00; ++bits)
    ASSERT_EQ(half_of_float(float_of_half(static_cast<uint16_t>(bits))), bits);
  EXPECT_TRUE(std::isnan(float_of_half(half_of_float(std::nanf("")))));
  EXPECT_EQ(half_of_float(65519.0F), 0x7BFF);
  EXPECT_EQ(half_of_float(65520.0F), 0x7C00);
  EXPECT_EQ(half_of_float(2049.0F), 0x6800);
  EXPECT_EQ(half_of_float(2051.0F), 0x6802);
  EXPECT_EQ(half_of_float(0x1p-25F), 0);
  EXPECT_EQ(half_of_float(0x1.8p-24F), 2);
  EXPECT_EQ(bf16_of_float(1.00390625F), 0x3F80);
  EXPECT_EQ(bf16_of_float(1.01171875F), 0x3F82);
  EXPECT_EQ(bf16_of_float(3.4e38F), 0x7F80);
  EXPECT_TRUE(std::isnan(float_of_bf16(bf16_of_float(std::nanf("")))));
}

TEST(TypesTest, SizesOfElements) {
  EXPECT_EQ(aclDataTypeSize(ACL_FLOAT16), 2U);
  EXPECT_EQ(aclDataTypeSize(ACL_BF16), 2U);
  EXPECT_EQ(aclDataTypeSize(ACL_FLOAT), 4U);
  EXPECT_EQ(aclDataTypeSize(ACL_INT64), 8U);
  EXPECT_EQ(aclDataTypeSize(ACL_BOOL), 1U);
  EXPECT_EQ(aclDataTypeSize(ACL_DT_UNDEFINED), 0U);
}

}  // namespace
}  // namespace ascend_sim
