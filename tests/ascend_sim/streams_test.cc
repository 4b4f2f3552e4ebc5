// SPDX-License-Identifier: Apache-2.0
// Streams and events: order, waiting, ownership.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/errors.h"
#include "support/npu.h"

namespace ascend_sim {
namespace {

class StreamsTest : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_EQ(aclrtCreateStreamWithConfig(&other_, 0, ACL_STREAM_FAST_LAUNCH), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateEvent(&event_), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&device_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }

  void TearDown() override {
    ascend_sim_hold_workers(0);
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(device_), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyEvent(event_), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(other_), ACL_SUCCESS);
    AclTest::TearDown();
  }

  void set_async(int value, aclrtStream stream) {
    EXPECT_EQ(aclrtMemsetAsync(device_, kBytes, value, kBytes, stream), ACL_SUCCESS);
  }

  uint8_t value() {
    uint8_t byte = 0;
    EXPECT_EQ(aclrtMemcpy(&byte, 1, device_, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return byte;
  }

  static constexpr size_t kBytes = 64;
  aclrtStream other_ = nullptr;
  aclrtEvent event_ = nullptr;
  void* device_ = nullptr;
};

TEST_F(StreamsTest, TasksAreDoneInOrder) {
  for (int i = 0; i <= 100; ++i) set_async(i, stream_);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(value(), 100);
}

TEST_F(StreamsTest, SynchroniseWaitsForQueuedWork) {
  ascend_sim_hold_workers(1);
  set_async(1, stream_);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 1), kSynchroniseTimeout);
  std::atomic<bool> is_done = false;
  std::thread waiter([&] {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    is_done = true;
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(is_done);
  ascend_sim_hold_workers(0);
  waiter.join();
  EXPECT_EQ(value(), 1);
}

TEST_F(StreamsTest, TheNullStreamIsTheContextsOwn) {
  set_async(1, nullptr);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(value(), 1);
  EXPECT_EQ(aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST_F(StreamsTest, SynchronisingTheDeviceWaitsForAllItsStreams) {
  ascend_sim_delay_tasks(2000);
  set_async(1, stream_);
  void* second = nullptr;
  EXPECT_EQ(aclrtMalloc(&second, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetAsync(second, kBytes, 1, kBytes, other_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(value(), 1);
  EXPECT_EQ(aclrtFree(second), ACL_SUCCESS);
}

TEST_F(StreamsTest, AStreamWaitsForAnEventOfAnother) {
  ascend_sim_delay_tasks(2000);
  set_async(1, stream_);
  EXPECT_EQ(aclrtRecordEvent(event_, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(other_, event_), ACL_SUCCESS);
  set_async(2, other_);
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  EXPECT_EQ(value(), 2);
}

TEST_F(StreamsTest, AnEventReportsWhetherAndWhenItWasReached) {
  aclrtEvent second = nullptr;
  EXPECT_EQ(aclrtCreateEventWithFlag(&second, ACL_EVENT_TIME_LINE), ACL_SUCCESS);
  float milliseconds = -1;
  aclrtEventRecordedStatus status;
  EXPECT_EQ(aclrtEventElapsedTime(&milliseconds, event_, second), kEventNotRecorded);
  ascend_sim_hold_workers(1);
  EXPECT_EQ(aclrtRecordEvent(event_, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtQueryEventStatus(event_, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
  ascend_sim_hold_workers(0);
  EXPECT_EQ(aclrtRecordEvent(second, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(second), ACL_SUCCESS);
  EXPECT_EQ(aclrtQueryEventStatus(event_, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_EQ(aclrtEventElapsedTime(&milliseconds, event_, second), ACL_SUCCESS);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(aclrtDestroyEvent(second), ACL_SUCCESS);
}

TEST_F(StreamsTest, AnEventThatWorkHasYetToReachMustNotBeDestroyed) {
  aclrtEvent event = nullptr;
  EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  ascend_sim_hold_workers(1);
  EXPECT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  expect_violation("aclrtDestroyEvent of an event that queued work has yet to reach");
}

TEST_F(StreamsTest, DestroyingAStreamWaitsForItsWorkUnlessItIsForced) {
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ascend_sim_delay_tasks(2000);
  set_async(1, stream);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(value(), 1);

  EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ascend_sim_hold_workers(1);
  set_async(2, stream);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  EXPECT_EQ(value(), 1);
}

TEST_F(StreamsTest, EndedHandlesAreRefused) {
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), kInvalidHandle);
  EXPECT_EQ(recent_error(), "107017: aclrtSynchronizeStream: there is no such stream, or no longer");
  EXPECT_EQ(aclrtDestroyStream(stream), kInvalidHandle);
  EXPECT_EQ(aclrtMemsetAsync(device_, 1, 0, 1, stream), kInvalidHandle);
  aclrtEvent event = nullptr;
  EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, stream_), kInvalidHandle);
}

TEST_F(StreamsTest, StreamsAndEventsBelongToTheContextInWhichTheyWereMade) {
  aclrtContext before = nullptr, context = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&before), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), kOfAnotherContext);
  EXPECT_EQ(aclrtDestroyStream(stream_), kOfAnotherContext);
  EXPECT_EQ(aclrtMemsetAsync(device_, 1, 0, 1, stream_), kOfAnotherContext);
  EXPECT_EQ(aclrtRecordEvent(event_, nullptr), kOfAnotherContext);
  EXPECT_EQ(aclrtSetCurrentContext(before), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
}

TEST_F(StreamsTest, AContextMustOutliveItsStreams) {
  aclrtContext before = nullptr, context = nullptr;
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&before), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  expect_violation("before the end of the context's streams");
  EXPECT_EQ(aclrtSetCurrentContext(before), ACL_SUCCESS);
}

}  // namespace
}  // namespace ascend_sim
