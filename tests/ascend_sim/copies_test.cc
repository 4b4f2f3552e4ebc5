// SPDX-License-Identifier: Apache-2.0
// Copies: which pointers they accept, and when they are made.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "runtime/errors.h"
#include "support/npu.h"

namespace ascend_sim {
namespace {

class CopiesTest : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_EQ(aclrtMalloc(&device_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&other_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMallocHost(&pinned_, kBytes), ACL_SUCCESS);
  }

  void TearDown() override {
    ascend_sim_hold_workers(0);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(device_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(other_), ACL_SUCCESS);
    if (pinned_ != nullptr) {
      EXPECT_EQ(aclrtFreeHost(pinned_), ACL_SUCCESS);
    }
    AclTest::TearDown();
  }

  static aclError copy(void* to, const void* from, aclrtMemcpyKind kind) {
    return aclrtMemcpy(to, kBytes, from, kBytes, kind);
  }
  aclError copy_async(void* to, const void* from, aclrtMemcpyKind kind) const {
    return aclrtMemcpyAsync(to, kBytes, from, kBytes, kind, stream_);
  }

  static constexpr size_t kBytes = 64;
  void* device_ = nullptr;
  void* other_ = nullptr;
  void* pinned_ = nullptr;
  std::vector<uint8_t> host_ = std::vector<uint8_t>(kBytes, 7);
};

TEST_F(CopiesTest, EachKindCopiesBetweenItsSides) {
  std::vector<uint8_t> back(kBytes);
  EXPECT_EQ(copy(device_, host_.data(), ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(copy(other_, device_, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(copy(pinned_, other_, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(copy(back.data(), pinned_, ACL_MEMCPY_HOST_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(back, host_);
}

TEST_F(CopiesTest, TheDefaultKindLooksAtThePointers) {
  std::vector<uint8_t> back(kBytes);
  EXPECT_EQ(copy(device_, host_.data(), ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
  EXPECT_EQ(copy(back.data(), device_, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
  EXPECT_EQ(back, host_);
}

TEST_F(CopiesTest, APointerThatContradictsTheKindIsRefused) {
  EXPECT_EQ(copy(device_, host_.data(), ACL_MEMCPY_DEVICE_TO_HOST), kInvalidValue);
  EXPECT_EQ(recent_error(), "107000: aclrtMemcpy: dst is an address of the device, but the kind of copy says the host");
  EXPECT_EQ(copy(host_.data(), device_, ACL_MEMCPY_HOST_TO_DEVICE), kInvalidValue);
  EXPECT_EQ(recent_error(), "107000: aclrtMemcpy: dst is an address of the host");
  EXPECT_EQ(copy(device_, host_.data(), ACL_MEMCPY_DEVICE_TO_DEVICE), kInvalidValue);
  EXPECT_EQ(copy(device_, other_, ACL_MEMCPY_HOST_TO_DEVICE), kInvalidValue);
  EXPECT_EQ(copy(host_.data(), device_, ACL_MEMCPY_HOST_TO_HOST), kInvalidValue);
  EXPECT_EQ(copy(device_, host_.data(), static_cast<aclrtMemcpyKind>(7)), ACL_ERROR_INVALID_PARAM);
}

TEST_F(CopiesTest, TheRangeMustLieWithinOneLiveAllocation) {
  std::vector<uint8_t> host(2 * kBytes);
  auto* const inside = static_cast<uint8_t*>(device_) + 1;
  EXPECT_EQ(aclrtMemcpy(inside, kBytes, host.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE), kInvalidValue);
  EXPECT_EQ(recent_error(), "107000: aclrtMemcpy: dst has 63 bytes left in its allocation, but 64 are wanted");
  EXPECT_EQ(aclrtMemcpy(inside, kBytes, host.data(), kBytes - 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  void* freed = nullptr;
  EXPECT_EQ(aclrtMalloc(&freed, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(freed), ACL_SUCCESS);
  EXPECT_EQ(copy(freed, host.data(), ACL_MEMCPY_HOST_TO_DEVICE), kInvalidValue);
  EXPECT_EQ(recent_error(), "107000: aclrtMemcpy: dst is an address of the device that is not allocated");
  EXPECT_EQ(aclrtMemset(freed, kBytes, 0, kBytes), kInvalidValue);
  EXPECT_EQ(aclrtMemsetAsync(device_, 2 * kBytes, 0, 2 * kBytes, stream_), kInvalidValue);
}

TEST_F(CopiesTest, ArgumentsAreCheckedUnlessThereIsNothingToDo) {
  EXPECT_EQ(aclrtMemcpy(nullptr, 1, host_.data(), 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(device_, 1, nullptr, 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(device_, 1, host_.data(), 2, ACL_MEMCPY_HOST_TO_DEVICE), kInvalidValue);
  EXPECT_EQ(aclrtMemset(device_, 1, 0, 2), kInvalidValue);
  EXPECT_EQ(aclrtMemcpy(nullptr, 0, nullptr, 0, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemset(nullptr, 0, 0, 0), ACL_SUCCESS);
}

TEST_F(CopiesTest, OverlappingRangesAreAViolation) {
  EXPECT_EQ(aclrtMemcpy(static_cast<uint8_t*>(device_) + 32, 32, static_cast<uint8_t*>(device_) + 16, 32,
                        ACL_MEMCPY_DEVICE_TO_DEVICE),
            ACL_SUCCESS);
  expect_violation("source and destination overlap");
}

TEST_F(CopiesTest, ASynchronousCopyDoesNotWaitForStreams) {
  ascend_sim_hold_workers(1);
  EXPECT_EQ(aclrtMemsetAsync(device_, kBytes, 0, kBytes, stream_), ACL_SUCCESS);
  // It returns at once, with the old contents.
  EXPECT_EQ(copy(host_.data(), device_, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(host_, std::vector<uint8_t>(kBytes, 0xFF));
  expect_violation("aclrtMemcpy reads 64 bytes");
  EXPECT_EQ(copy(device_, host_.data(), ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  expect_violation("aclrtMemcpy writes 64 bytes");
  EXPECT_EQ(aclrtMemset(device_, kBytes, 0, kBytes), ACL_SUCCESS);
  expect_violation("aclrtMemset writes 64 bytes");
  // Memory that no queued work uses may be copied.
  EXPECT_EQ(copy(other_, host_.data(), ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
}

TEST_F(CopiesTest, AnAsynchronousCopyOfPageableMemoryWaitsForEarlierWorkAndIsDoneOnReturn) {
  ascend_sim_delay_tasks(20000);
  EXPECT_EQ(aclrtMemsetAsync(device_, kBytes, 3, kBytes, stream_), ACL_SUCCESS);
  EXPECT_EQ(copy_async(host_.data(), device_, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(host_, std::vector<uint8_t>(kBytes, 3));
}

TEST_F(CopiesTest, AnAsynchronousCopyOfPinnedMemoryReturnsBeforeItIsDone) {
  ascend_sim_hold_workers(1);
  EXPECT_EQ(aclrtMemsetAsync(device_, kBytes, 3, kBytes, stream_), ACL_SUCCESS);
  EXPECT_EQ(copy_async(pinned_, device_, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  const auto* const bytes = static_cast<const uint8_t*>(pinned_);
  EXPECT_EQ(bytes[0], 0xFF);
  ascend_sim_hold_workers(0);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(bytes[0], 3);
}

TEST_F(CopiesTest, AnAsynchronousCopyWithinTheHostIsNotSupported) {
  EXPECT_EQ(copy_async(host_.data(), pinned_, ACL_MEMCPY_HOST_TO_HOST), kUnsupported);
}

TEST_F(CopiesTest, AnAsynchronousCopyWithinTheDeviceWantsAlignedAddresses) {
  auto* const to = static_cast<char*>(device_);
  const auto* const from = static_cast<const char*>(other_);
  const auto copy_half = [&](size_t to_offset, size_t from_offset) {
    return aclrtMemcpyAsync(to + to_offset, 32, from + from_offset, 32, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_);
  };
  EXPECT_EQ(copy_half(0, 0), ACL_SUCCESS);
  EXPECT_EQ(copy_half(32, 0), kUnaligned);
  EXPECT_EQ(copy_half(0, 32), kUnaligned);
  EXPECT_EQ(aclrtMemcpy(to + 32, 32, from + 2, 32, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
}

TEST_F(CopiesTest, PinnedMemoryThatACopyReadsMustNotChangeBeforeItIsCopied) {
  ascend_sim_hold_workers(1);
  EXPECT_EQ(copy_async(device_, pinned_, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  static_cast<uint8_t*>(pinned_)[5] = 1;
  ascend_sim_hold_workers(0);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  expect_violation("the host changed the source of aclrtMemcpyAsync of 64 bytes");
}

TEST_F(CopiesTest, PinnedMemoryThatQueuedWorkUsesMustNotBeFreed) {
  ascend_sim_hold_workers(1);
  EXPECT_EQ(copy_async(device_, pinned_, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(pinned_), ACL_SUCCESS);
  pinned_ = nullptr;
  expect_violation("aclrtFreeHost of 64 bytes");
}

TEST_F(CopiesTest, CopiesAreCounted) {
  const uint64_t before[] = {ascend_sim_count("memcpy_h2d"), ascend_sim_count("memcpy_d2h"),
                             ascend_sim_count("memcpy_d2d"), ascend_sim_count("memset")};
  EXPECT_EQ(copy(device_, host_.data(), ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(copy_async(host_.data(), device_, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(copy_async(device_, other_, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemset(device_, kBytes, 0, kBytes), ACL_SUCCESS);
  EXPECT_EQ(ascend_sim_count("memcpy_h2d"), before[0] + 1);
  EXPECT_EQ(ascend_sim_count("memcpy_d2h"), before[1] + 1);
  EXPECT_EQ(ascend_sim_count("memcpy_d2d"), before[2] + 1);
  EXPECT_EQ(ascend_sim_count("memset"), before[3] + 1);
  EXPECT_EQ(ascend_sim_count("no such count"), 0U);
}

// At most 64 MiB of host memory are set; their copy is repeated on the device.
TEST_F(CopiesTest, AnAsynchronousMemsetCopiesHostMemory) {
  constexpr size_t kBlock = size_t{64} << 20;
  const auto counts = [] {
    return std::vector<uint64_t>{ascend_sim_count("memset_host_bytes"), ascend_sim_count("memcpy_h2d"),
                                 ascend_sim_count("memcpy_d2d")};
  };
  void* large = nullptr;
  ASSERT_EQ(aclrtMalloc(&large, 2 * kBlock + 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  const auto used_by = [&](size_t bytes) {
    std::vector<uint64_t> used = counts();
    EXPECT_EQ(aclrtMemsetAsync(large, bytes, 7, bytes, stream_), ACL_SUCCESS);
    const std::vector<uint64_t> after = counts();
    for (size_t i = 0; i < used.size(); ++i) used[i] = after[i] - used[i];
    return used;
  };
  EXPECT_EQ(used_by(1), (std::vector<uint64_t>{1, 1, 0}));
  EXPECT_EQ(used_by(kBlock), (std::vector<uint64_t>{kBlock, 1, 0}));
  EXPECT_EQ(used_by(kBlock + 1), (std::vector<uint64_t>{kBlock, 1, 1}));
  EXPECT_EQ(used_by(2 * kBlock + 1), (std::vector<uint64_t>{kBlock, 1, 2}));
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(static_cast<const uint8_t*>(ascend_sim_host_address(large))[2 * kBlock], 7);
  EXPECT_EQ(aclrtFree(large), ACL_SUCCESS);
}

}  // namespace
}  // namespace ascend_sim
