// SPDX-License-Identifier: Apache-2.0
// Streams. Each has a thread that runs its tasks in order. A failed task marks the whole device as faulty.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "runtime/device_memory.h"

namespace ascend_sim {

// State that the streams of one device share.
class Device {
 public:
  explicit Device(int32_t number) : id(number) {}
  const int32_t id;

  // A task failed: nothing runs on the device any more. Only the first failure is kept.
  void fault(aclError code, std::string sentence);
  bool is_faulty() const { return fault_code_.load() != 0; }
  // Called by synchronisations and copies, which return the fault's code. From then on the device is lost for all other
  // calls.
  aclError meet();
  // Called by all other calls. Returns the fault's code once the device is lost, else 0.
  aclError lost();
  void repair();

  // The mode of streams that are created later.
  std::atomic<aclrtFloatOverflowMode> overflow_mode = ACL_RT_OVERFLOW_MODE_INFNAN;

 private:
  std::mutex mutex_;
  std::atomic<aclError> fault_code_ = 0;
  bool is_lost_ = false;
  std::string sentence_;
};

struct Task {
  std::string name;
  // Returns the code of a failure, or 0. Not called on a faulty device.
  std::function<aclError()> run;
  std::vector<DeviceMemory::UseHandle> uses;
  // Called last, whether or not `run` was called.
  std::function<void()> done;
};

class Stream {
 public:
  explicit Stream(std::shared_ptr<Device> device);
  // Finishes queued tasks, unless cancel() was called.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void submit(Task task);
  // Waits until all earlier tasks are over. False if that takes longer than `milliseconds`; a negative number means no
  // limit.
  bool wait(int32_t milliseconds = -1);
  void cancel();
  // Whether kernels on this stream write the largest finite number for an infinity, and 0 for a NaN.
  bool saturates() const { return saturates_; }

  // Called before and after a call of ATB that submits work, which one thread at a time may do. A second thread is
  // reported, and waits.
  void enter(const char* what);
  void leave();

  // For all streams.
  static void hold(bool hold);
  static void delay(unsigned microseconds);
  static void sleep_for_delay();

 private:
  void work();

  const std::shared_ptr<Device> device_;
  const bool saturates_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable progress_;
  std::deque<Task> queue_;
  uint64_t num_submitted_ = 0;
  uint64_t num_done_ = 0;
  bool is_ending_ = false;
  bool is_cancelled_ = false;
  std::mutex entry_;
  std::thread thread_;
};

// A series of points in streams' work. Each record adds a point. A wait is for the latest point at the time of the
// call.
class Event {
 public:
  uint64_t record();
  uint64_t latest();
  void complete(uint64_t point);
  void wait(uint64_t point);
  bool is_complete(uint64_t point);
  // False before the latest point is reached.
  bool time(std::chrono::steady_clock::time_point& time);

 private:
  std::mutex mutex_;
  std::condition_variable reached_;
  uint64_t recorded_ = 0;
  uint64_t completed_ = 0;
  std::chrono::steady_clock::time_point time_;
};

}  // namespace ascend_sim
