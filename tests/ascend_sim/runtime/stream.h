// SPDX-License-Identifier: Apache-2.0
// Streams: each has a thread, which does the tasks in the order in which they came. What a failed task makes of the device
// is the device's.
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

// What the streams of one device share.
class Device {
 public:
  explicit Device(int32_t number) : id(number) {}
  const int32_t id;

  // A task failed: nothing runs on the device any more. The first failure counts.
  void fault(aclError code, std::string sentence);
  bool is_faulty() const { return fault_code_.load() != 0; }
  // For calls that meet the device: synchronisations and copies. From then on it is lost for all others.
  aclError meet();
  // For all other calls.
  aclError lost();
  void repair();

  // For streams that are created from then on.
  std::atomic<aclrtFloatOverflowMode> overflow_mode = ACL_RT_OVERFLOW_MODE_INFNAN;

 private:
  std::mutex mutex_;
  std::atomic<aclError> fault_code_ = 0;
  bool is_lost_ = false;
  std::string sentence_;
};

struct Task {
  std::string name;
  // The code of a failure, or 0. Not called on a device that is faulty.
  std::function<aclError()> run;
  std::vector<DeviceMemory::UseHandle> uses;
  // Called in either case, when everything else is over.
  std::function<void()> done;
};

class Stream {
 public:
  explicit Stream(std::shared_ptr<Device> device);
  // Finishes what is queued; with cancel() before it, leaves it.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void submit(Task task);
  // Until everything submitted before is over; false when that takes longer than `milliseconds`, which are endless below 0.
  bool wait(int32_t milliseconds = -1);
  void cancel();
  // Kernels write the largest finite number here for an infinity, and 0 for a NaN.
  bool saturates() const { return saturates_; }

  // Around the calls of ATB that submit work: one thread at a time. A second one is reported, and waits.
  void enter(const char* what);
  void leave();

  // Of all streams.
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

// Points in streams' work. Each record is one more point; waiting is for the latest when the wait was asked for.
class Event {
 public:
  uint64_t record();
  uint64_t latest();
  void complete(uint64_t point);
  void wait(uint64_t point);
  bool is_complete(uint64_t point);
  // Null before the latest point is reached.
  bool time(std::chrono::steady_clock::time_point& time);

 private:
  std::mutex mutex_;
  std::condition_variable reached_;
  uint64_t recorded_ = 0;
  uint64_t completed_ = 0;
  std::chrono::steady_clock::time_point time_;
};

}  // namespace ascend_sim
