// SPDX-License-Identifier: Apache-2.0
// Device memory: its addresses, its contents, who may access it, and how much there is.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/errors.h"
#include "support/npu.h"

namespace ascend_sim {
namespace {

class DeviceMemoryTest : public AclTest {
 protected:
  void* allocate(size_t bytes) {
    void* address = nullptr;
    EXPECT_EQ(aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    return address;
  }

  std::vector<uint8_t> read(const void* address, size_t bytes) {
    std::vector<uint8_t> host(bytes);
    EXPECT_EQ(aclrtMemcpy(host.data(), bytes, address, bytes, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return host;
  }

  // The hidden bytes, which a faulty kernel could overwrite.
  static uint8_t* behind(void* address) {
    return static_cast<uint8_t*>(const_cast<void*>(ascend_sim_host_address(address)));
  }
};

// The expected text is empty, since the sanitizers end the process with texts of their own.
using DeviceMemoryDeathTest = DeviceMemoryTest;

TEST_F(DeviceMemoryDeathTest, AHostThatReadsOrWritesItFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  void* const address = allocate(64);
  auto* const bytes = static_cast<volatile uint8_t*>(address);
  EXPECT_DEATH((void)bytes[0], "");
  EXPECT_DEATH(bytes[63] = 1, "");
  // Also while a stream is working.
  EXPECT_DEATH(
      {
        ascend_sim_delay_tasks(100000);
        aclrtMemsetAsync(address, 64, 0, 64, stream_);
        bytes[0] = 1;
      },
      "");
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
}

TEST_F(DeviceMemoryDeathTest, AHandleIsNotAnAddress) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(*static_cast<volatile int*>(stream_) = 1, "");
}

TEST_F(DeviceMemoryTest, EachAllocationBeginsAtAMultipleOf64) {
  void* addresses[8];
  for (size_t i = 0; i < 8; ++i) {
    addresses[i] = allocate(1 + 7 * i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(addresses[i]) % 64, 0U);
  }
  for (void* const address : addresses) EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
}

TEST_F(DeviceMemoryTest, SizeZeroNullAndUnknownPoliciesAreRefused) {
  void* address = &address;
  EXPECT_EQ(aclrtMalloc(&address, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocHost(&address, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(address, &address);
  EXPECT_EQ(aclrtMalloc(nullptr, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&address, 1, static_cast<aclrtMemMallocPolicy>(7)), ACL_ERROR_INVALID_PARAM);
}

TEST_F(DeviceMemoryTest, FreshMemoryIsPoisonedAlsoIfItIsReused) {
  for (int i = 0; i < 3; ++i) {
    void* const address = allocate(100);
    EXPECT_EQ(read(address, 100), std::vector<uint8_t>(100, 0xFF));
    EXPECT_EQ(aclrtMemset(address, 100, 0, 100), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
  }
}

TEST_F(DeviceMemoryTest, FreedMemoryIsPoisonedAtOnce) {
  void* const address = allocate(100);
  const uint8_t* const bytes = behind(address);
  EXPECT_EQ(aclrtMemset(address, 100, 0, 100), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
  EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + 100), std::vector<uint8_t>(100, 0xFF));
}

TEST_F(DeviceMemoryTest, KernelsMayReadSpareBytesPastTheEnd) {
  void* const address = allocate(33);
  // ALIGN_UP(33, 32) + 32
  const uint8_t* const bytes = behind(address);
  for (size_t i = 0; i < 96; ++i) EXPECT_EQ(bytes[i], 0xFF);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
}

TEST_F(DeviceMemoryTest, AWritePastTheEndIsReportedOnceAtTheNextSynchronisation) {
  void* const address = allocate(33);
  behind(address)[33] = 0;
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  expect_violation("past the end of the allocation of 33 bytes");
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
}

TEST_F(DeviceMemoryTest, AWriteToTheGuardIsReportedWhenTheMemoryIsFreed) {
  void* const address = allocate(32);
  behind(address)[64 + 63] = 0;
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
  expect_violation("past the end of the allocation of 32 bytes");
}

TEST_F(DeviceMemoryTest, OnlyTheStartOfALiveAllocationCanBeFreed) {
  void* const address = allocate(64);
  EXPECT_EQ(aclrtFree(static_cast<uint8_t*>(address) + 32), kInvalidValue);
  int host = 0;
  EXPECT_EQ(aclrtFree(&host), kInvalidValue);
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(address), kInvalidValue);
  EXPECT_EQ(aclrtFreeHost(&host), kInvalidValue);
}

TEST_F(DeviceMemoryTest, MemoryThatQueuedWorkUsesMustNotBeFreed) {
  void* const address = allocate(64);
  ascend_sim_hold_workers(1);
  EXPECT_EQ(aclrtMemsetAsync(address, 64, 0, 64, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
  expect_violation("aclrtFree of 64 bytes");
  ascend_sim_hold_workers(0);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

TEST_F(DeviceMemoryTest, ADeviceHasNoMoreThanItsCapacity) {
  // Each has 32 spare bytes.
  ascend_sim_set_faults("memory=1024");
  void* address = nullptr;
  EXPECT_EQ(aclrtMalloc(&address, 993, ACL_MEM_MALLOC_HUGE_FIRST), kOutOfDeviceMemory);
  EXPECT_EQ(recent_error(), "207001: aclrtMalloc: the device has no 993 bytes left");
  EXPECT_EQ(aclrtMalloc(&address, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST), kOutOfDeviceMemory);
  address = allocate(992);
  void* another = nullptr;
  EXPECT_EQ(aclrtMalloc(&another, 1, ACL_MEM_MALLOC_HUGE_FIRST), kOutOfDeviceMemory);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(allocate(1)), ACL_SUCCESS);
}

TEST_F(DeviceMemoryTest, MemInfoReportsTheChipsKindOfMemory) {
  size_t before = 0, after = 0, total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
  EXPECT_EQ(total, size_t{8} << 30);
  void* const address = allocate(64);
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
  EXPECT_EQ(before - after, 96U);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetMemInfo(ACL_DDR_MEM, &after, &total), ACL_SUCCESS);
  EXPECT_EQ(total, 0U);
  ascend_sim_set_faults("soc=Ascend310P3");
  EXPECT_EQ(aclrtGetMemInfo(ACL_DDR_MEM, &after, &total), ACL_SUCCESS);
  EXPECT_EQ(total, size_t{8} << 30);
}

TEST_F(DeviceMemoryTest, AllocationsAreCounted) {
  const uint64_t before = ascend_sim_count("bytes_allocated");
  const uint64_t num_before = ascend_sim_count("malloc");
  void* const address = allocate(100);
  EXPECT_EQ(ascend_sim_count("bytes_allocated"), before + 100);
  EXPECT_EQ(ascend_sim_count("malloc"), num_before + 1);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
  EXPECT_EQ(ascend_sim_count("bytes_allocated"), before);
}

TEST_F(DeviceMemoryTest, ManyAllocationsOfManySizesNeverOverlap) {
  std::vector<std::pair<void*, size_t>> live;
  uint32_t random = 1;
  for (int i = 0; i < 2000; ++i) {
    random = random * 1664525 + 1013904223;
    if (live.size() > 50 || (random >> 16) % 3 == 0) {
      if (live.empty()) continue;
      const size_t chosen = (random >> 8) % live.size();
      const auto [address, bytes] = live[chosen];
      EXPECT_EQ(read(address, bytes), std::vector<uint8_t>(bytes, static_cast<uint8_t>(bytes)));
      EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(chosen));
    } else {
      const size_t bytes = 1 + (random >> 10) % 100000;
      void* const address = allocate(bytes);
      EXPECT_EQ(aclrtMemset(address, bytes, static_cast<uint8_t>(bytes), bytes), ACL_SUCCESS);
      live.emplace_back(address, bytes);
    }
  }
  for (const auto& [address, bytes] : live) EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
}

}  // namespace
}  // namespace ascend_sim
