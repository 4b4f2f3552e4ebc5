// SPDX-License-Identifier: Apache-2.0
// Every fault of ascend_sim_set_faults, and a failed device until its reset.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <vector>

#include "runtime/errors.h"
#include "support/npu.h"

namespace ascend_sim {
namespace {

using atb::infer::ElewiseParam;

constexpr aclError kLost = 507015;

class FaultsTest : public AtbTest {
 protected:
  static ElewiseParam doubled() {
    ElewiseParam param;
    param.elewiseType = ElewiseParam::ELEWISE_MULS;
    param.mulsParam.varAttr = 2;
    return param;
  }
  static atb::TensorDesc desc() { return desc_of(ACL_FLOAT, {16}); }
};

TEST_F(FaultsTest, TheNthCallAfterSettingTheFaultFailsOnce) {
  void* address = nullptr;
  ASSERT_EQ(aclrtMalloc(&address, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ascend_sim_set_faults(
      "malloc=2,malloc_host=1,memcpy=1:107000,memcpy=3:500003,create_stream=1:207008,"
      "saturation=2:500000");
  void* second = nullptr;
  EXPECT_EQ(aclrtMalloc(&second, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  void* third = nullptr;
  EXPECT_EQ(aclrtMalloc(&third, 1, ACL_MEM_MALLOC_HUGE_FIRST), kOutOfDeviceMemory);
  EXPECT_EQ(third, nullptr);
  EXPECT_EQ(aclrtMalloc(&third, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  for (void* const each : {address, second, third}) EXPECT_EQ(aclrtFree(each), ACL_SUCCESS);
  void* host = nullptr;
  EXPECT_EQ(aclrtMallocHost(&host, 1), kOutOfDeviceMemory);
  uint8_t bytes[2] = {1, 2};
  const auto copy = [&bytes] { return aclrtMemcpy(bytes, 1, bytes + 1, 1, ACL_MEMCPY_HOST_TO_HOST); };
  EXPECT_EQ(copy(), 107000);
  EXPECT_EQ(copy(), ACL_SUCCESS);
  EXPECT_EQ(copy(), 500003);
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStream(&stream), 207008);
  aclrtFloatOverflowMode mode{};
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDeviceSatMode(mode), 500000);
}

TEST_F(FaultsTest, AnAsynchronousMemsetCanFindNoHostMemory) {
  DeviceTensor x(desc());
  ascend_sim_set_faults("memset=2");
  const auto set = [&] { return aclrtMemsetAsync(x.tensor().deviceData, 64, 1, 64, stream_); };
  EXPECT_EQ(set(), ACL_SUCCESS);
  EXPECT_EQ(set(), kOutOfDeviceMemory);
  EXPECT_EQ(recent_error(), "207001: aclrtMemsetAsync: the host has no 64 bytes left");
  EXPECT_EQ(set(), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

TEST_F(FaultsTest, CallsOfAtbFailWithTheCodeThatIsSet) {
  atb::Context* context = nullptr;
  atb::Operation* operation = nullptr;
  ascend_sim_set_faults("create_context=1:27,create_operation=1:10,setup=1:4,execute=1:3,throw=3");
  EXPECT_EQ(atb::CreateContext(&context), 27);
  EXPECT_EQ(atb::CreateOperation(doubled(), &operation), 10);
  operation = create(doubled());
  DeviceTensor x(desc());
  const atb::VariantPack pack = pack_of({&x}, {&x});
  EXPECT_EQ(set_up(operation, pack), 4);
  // A Setup after a failed one succeeds.
  EXPECT_EQ(set_up(operation, pack), atb::NO_ERROR);
  EXPECT_EQ(operation->Execute(pack, nullptr, 0, context_), 3);
  EXPECT_THROW(set_up(operation, pack), std::bad_alloc);
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
}

TEST_F(FaultsTest, AnAtbContextTakesMemoryOfTheDevice) {
  size_t free_bytes = 0, total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total), ACL_SUCCESS);
  EXPECT_EQ(total - free_bytes, size_t{96} << 20);
  ascend_sim_set_faults("memory=104857600");
  atb::Context* context = nullptr;
  EXPECT_EQ(atb::CreateContext(&context), atb::ERROR_OUT_OF_DEVICE_MEMORY);
}

TEST_F(FaultsTest, AKernelThatFailsIsReportedAtTheNextSynchronisationAndTheDeviceIsLost) {
  ascend_sim_set_faults("kernel=2:507015");
  {
    atb::Operation* const operation = create(doubled());
    void* other = nullptr;
    ASSERT_EQ(aclrtMalloc(&other, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    void* address = nullptr;
    ASSERT_EQ(aclrtMalloc(&address, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    atb::VariantPack pack = pack_of_descs({desc()}, {desc()});
    pack.inTensors[0].deviceData = pack.outTensors[0].deviceData = address;
    pack.inTensors[0].dataSize = pack.outTensors[0].dataSize = 64;
    ASSERT_EQ(set_up(operation, pack), atb::NO_ERROR);
    EXPECT_EQ(operation->Execute(pack, nullptr, 0, context_), atb::NO_ERROR);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(operation->Execute(pack, nullptr, 0, context_), atb::NO_ERROR);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), kLost);
    EXPECT_EQ(recent_error(), "507015: ElewiseOperation failed on the device");

    // Every call fails now, with the same code.
    uint8_t byte = 0;
    void* more = nullptr;
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtSynchronizeStream(stream_), kLost);
    EXPECT_EQ(aclrtSynchronizeDevice(), kLost);
    EXPECT_EQ(aclrtMemcpy(&byte, 1, address, 1, ACL_MEMCPY_DEVICE_TO_HOST), kLost);
    EXPECT_EQ(aclrtMemcpyAsync(&byte, 1, address, 1, ACL_MEMCPY_DEVICE_TO_HOST, stream_), kLost);
    EXPECT_EQ(aclrtMemset(address, 1, 0, 1), kLost);
    EXPECT_EQ(aclrtMalloc(&more, 1, ACL_MEM_MALLOC_HUGE_FIRST), kLost);
    EXPECT_EQ(aclrtMallocHost(&more, 1), kLost);
    EXPECT_EQ(aclrtCreateStream(&stream), kLost);
    EXPECT_EQ(aclrtSetDevice(0), kLost);
    EXPECT_EQ(operation->Execute(pack, nullptr, 0, context_), atb::ERROR_RT_FAIL);
    // Functions that release something return the code too, but release it.
    EXPECT_EQ(aclrtFree(address), kLost);
    EXPECT_EQ(leaks().find("64 bytes"), std::string::npos);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
  }
  // The last reset makes the device usable again. Everything on it is gone, also `other`.
  EXPECT_EQ(aclrtDestroyStream(stream_), kLost);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
  EXPECT_EQ(ascend_sim_count("bytes_allocated"), 0U);
  void* address = nullptr;
  EXPECT_EQ(aclrtMalloc(&address, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
}

TEST_F(FaultsTest, ACopyReportsAKernelsFailureToo) {
  ascend_sim_set_faults("kernel=1:507014");
  atb::Operation* const operation = create(doubled());
  {
    DeviceTensor x(desc());
    const atb::VariantPack pack = pack_of({&x}, {&x});
    ASSERT_EQ(set_up(operation, pack), atb::NO_ERROR);
    EXPECT_EQ(operation->Execute(pack, nullptr, 0, context_), atb::NO_ERROR);
    std::vector<uint8_t> host(64);
    // The copy waits for the kernel, since the memory is pageable.
    EXPECT_EQ(aclrtMemcpyAsync(host.data(), 64, x.tensor().deviceData, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream_), 507014);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
    x.allocate();
  }
}

TEST(DeviceFaultsTest, ADeviceUsedOnlyByCreatedContextsCanBeReset) {
  ascend_sim_clear_faults();
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  aclrtContext context = nullptr;
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), kInvalidValue);
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  atb::Context* atb_context = nullptr;
  ASSERT_EQ(atb::CreateContext(&atb_context), atb::NO_ERROR);
  ASSERT_EQ(atb_context->SetExecuteStream(stream), atb::NO_ERROR);
  atb::infer::FillParam param;
  param.withMask = false;
  param.value = {1};
  param.outDim = {4};
  atb::Operation* operation = nullptr;
  ASSERT_EQ(atb::CreateOperation(param, &operation), atb::NO_ERROR);
  atb::VariantPack pack;
  atb::Tensor out;
  out.desc = desc_of(ACL_FLOAT16, {4});
  out.dataSize = 8;
  uint16_t host[4];
  out.deviceData = host;
  pack.outTensors.push_back(out);
  uint64_t bytes = 0;
  ASSERT_EQ(operation->Setup(pack, bytes, atb_context), atb::NO_ERROR);
  EXPECT_EQ(operation->Execute(pack, nullptr, 0, atb_context), atb::NO_ERROR);
  EXPECT_EQ(aclrtSynchronizeStream(stream), kLost);
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyContext(atb_context), atb::NO_ERROR);
  EXPECT_EQ(aclrtDestroyStream(stream), kLost);
  EXPECT_EQ(aclrtDestroyContext(context), kLost);
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  EXPECT_EQ(leaks(), "");
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(DeviceFaultsTest, TheNumberOfDevicesCanBeSet) {
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  uint32_t count = 9;
  ascend_sim_set_faults("device_count=0");
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(aclrtSetDevice(0), kNoDevice);
  ascend_sim_set_faults("device_count=2");
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(2), kInvalidDevice);
  EXPECT_EQ(aclrtSetDevice(-1), kInvalidDevice);
  ascend_sim_clear_faults();
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(DeviceFaultsTest, ADriverMayBeMissing) {
  ascend_sim_set_faults("driver=missing");
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_DRV_FAILURE);
  ascend_sim_clear_faults();
}

TEST(DeviceFaultsTest, TheNameOfTheChipCanBeSet) {
  const char* const before = aclrtGetSocName();
  ascend_sim_set_faults("soc=Ascend310P3");
  EXPECT_STREQ(aclrtGetSocName(), "Ascend310P3");
  EXPECT_STREQ(before, "Ascend910B4");
  ascend_sim_set_faults(nullptr);
  EXPECT_STREQ(aclrtGetSocName(), "Ascend910B4");
}

TEST(FaultsDeathTest, AListThatCannotBeReadEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* const list : {"mallocs=1", "malloc", "malloc=", "malloc=0", "malloc=1:5", "setup=1", "setup=1:",
                                 "setup=x:1", "setup=1:0", "driver=there", "device_count=-1", "malloc=1,,setup=1:1"})
    EXPECT_DEATH(ascend_sim_set_faults(list), "cannot be read") << list;
}

}  // namespace
}  // namespace ascend_sim
