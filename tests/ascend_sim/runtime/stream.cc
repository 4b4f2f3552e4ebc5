// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream.h"

#include <algorithm>
#include <set>

#include "ascend_sim/control.h"
#include "runtime/errors.h"
#include "runtime/report.h"

namespace ascend_sim {
namespace {

struct Workers {
  std::mutex mutex;
  std::set<Stream*> streams;
  std::atomic<bool> are_held = false;
  std::atomic<unsigned> delay_microseconds = 0;
};

Workers& workers() {
  static Workers& workers = *new Workers;
  return workers;
}

}  // namespace

// ---- Device ---------------------------------------------------------------------------------------------------------

void Device::fault(aclError code, std::string sentence) {
  const std::lock_guard lock(mutex_);
  if (fault_code_ != 0) return;
  sentence_ = std::move(sentence);
  fault_code_ = code;
}

aclError Device::meet() {
  if (fault_code_ == 0) return ACL_SUCCESS;
  const std::lock_guard lock(mutex_);
  is_lost_ = true;
  return fail(fault_code_, sentence_);
}

aclError Device::lost() {
  const std::lock_guard lock(mutex_);
  if (!is_lost_) return ACL_SUCCESS;
  return fail(fault_code_, "device " + std::to_string(id) + " is lost until it is reset: " + sentence_);
}

void Device::repair() {
  const std::lock_guard lock(mutex_);
  fault_code_ = 0;
  is_lost_ = false;
  sentence_.clear();
}

// ---- Stream ---------------------------------------------------------------------------------------------------------

Stream::Stream(std::shared_ptr<Device> device)
    : device_(std::move(device)), saturates_(device_->overflow_mode == ACL_RT_OVERFLOW_MODE_SATURATION) {
  const std::lock_guard lock(workers().mutex);
  workers().streams.insert(this);
  thread_ = std::thread([this] { work(); });
}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
  const std::lock_guard lock(workers().mutex);
  workers().streams.erase(this);
}

void Stream::submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
    ++num_submitted_;
  }
  wake_.notify_one();
}

bool Stream::wait(int32_t milliseconds) {
  std::unique_lock lock(mutex_);
  const uint64_t target = num_submitted_;
  const auto is_reached = [&] { return num_done_ >= target; };
  if (milliseconds < 0) {
    progress_.wait(lock, is_reached);
    return true;
  }
  return progress_.wait_for(lock, std::chrono::milliseconds(milliseconds), is_reached);
}

void Stream::cancel() {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = true;
}

void Stream::enter(const char* what) {
  if (entry_.try_lock()) return;
  report_violation(std::string(what) + " while another thread submits work to the same stream: one thread at a time");
  entry_.lock();
}

void Stream::leave() { entry_.unlock(); }

void Stream::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] {
      if (queue_.empty() || is_cancelled_) return is_ending_;
      return !workers().are_held;
    });
    if (queue_.empty()) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    const bool is_skipped = is_cancelled_;
    lock.unlock();
    if (!is_skipped && !device_->is_faulty()) {
      sleep_for_delay();
      const aclError code = task.run ? task.run() : ACL_SUCCESS;
      if (code != ACL_SUCCESS) device_->fault(code, task.name + " failed on the device");
    }
    // Released before a waiting thread goes on, so that nothing refers to the memory any more then.
    for (const DeviceMemory::UseHandle use : task.uses) device_memory().release(use);
    task.run = nullptr;
    if (task.done) task.done();
    lock.lock();
    ++num_done_;
    progress_.notify_all();
  }
}

void Stream::hold(bool hold) {
  const std::lock_guard lock(workers().mutex);
  workers().are_held = hold;
  for (Stream* const stream : workers().streams) {
    // A thread that holds this mutex has not begun another task yet, and sees the change before it does.
    const std::lock_guard stream_lock(stream->mutex_);
    stream->wake_.notify_all();
  }
}

void Stream::delay(unsigned microseconds) { workers().delay_microseconds = microseconds; }

void Stream::sleep_for_delay() {
  const unsigned microseconds = workers().delay_microseconds;
  if (microseconds != 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

// ---- Event ----------------------------------------------------------------------------------------------------------

uint64_t Event::record() {
  const std::lock_guard lock(mutex_);
  return ++recorded_;
}

uint64_t Event::latest() {
  const std::lock_guard lock(mutex_);
  return recorded_;
}

void Event::complete(uint64_t point) {
  {
    const std::lock_guard lock(mutex_);
    completed_ = std::max(completed_, point);
    time_ = std::chrono::steady_clock::now();
  }
  reached_.notify_all();
}

void Event::wait(uint64_t point) {
  std::unique_lock lock(mutex_);
  reached_.wait(lock, [&] { return completed_ >= point; });
}

bool Event::is_complete(uint64_t point) {
  const std::lock_guard lock(mutex_);
  return completed_ >= point;
}

bool Event::time(std::chrono::steady_clock::time_point& time) {
  const std::lock_guard lock(mutex_);
  if (recorded_ == 0 || completed_ < recorded_) return false;
  time = time_;
  return true;
}

}  // namespace ascend_sim

void ascend_sim_hold_workers(int hold) { ascend_sim::Stream::hold(hold != 0); }
void ascend_sim_delay_tasks(unsigned microseconds) { ascend_sim::Stream::delay(microseconds); }
