// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/engine/host_executor.h"

#include <chrono>
#include <cinttypes>

#include "platform/floating_point_environment.h"

namespace heed::cpu {
namespace {

// Threads are still at work only if the executor returned too early, which is its defect; there is no need to be fast.
constexpr std::chrono::nanoseconds kSpinTime = std::chrono::nanoseconds::zero();

}  // namespace

HostExecutor::HostExecutor(const Executor& executor, int32_t num_workers)
    : executor_(executor), num_workers_(num_workers) {
  for (Task& task : tasks_) task.executor = this;
}

Status HostExecutor::run(const Loop& loop, int32_t num_workers, Failure* failure) {
  if (!lock_.try_lock()) {
    loop.run_alone();
    return Status::Ok;
  }
  num_items_ = num_workers;
  fault_.store(Fault::None, std::memory_order_relaxed);
  for (int32_t i = 0; i < num_workers; ++i) is_claimed_[i].store(false, std::memory_order_relaxed);
  ++round_;
  shared_.open(loop, round_, SharedLoop::kMaxEntries, num_workers);
  try {
    // parallel_for may change this thread's environment; the end of the scope restores it.
    const platform::FloatingPointEnvironment environment;
    // What parallel_for computes with heed besides the items belongs to other calls.
    const CallProgress::Scope other_calls(nullptr);
    executor_.parallel_for(executor_.user, num_workers, run_item, &tasks_[round_ % SharedLoop::kNumRounds]);
  } catch (...) {
    // The executor's threads may still run, so run() must not return before they have left the loop.
    note(Fault::Thrown, 0);
  }
  const bool is_early = shared_.close() > 0;
  // A fault noted before this point is the cause of undone items; a fault noted later is a consequence.
  const bool is_noted = fault_.load(std::memory_order_relaxed) != Fault::None;
  const bool is_undone = run_skipped_items() || is_early;
  shared_.wait_until_empty(kSpinTime);
  if (is_undone && !is_noted) fault_.store(Fault::Undone, std::memory_order_relaxed);
  const Status status = report(failure);
  lock_.unlock();
  return status;
}

Status HostExecutor::report(Failure* failure) const {
  constexpr Status kStatus = Status::InvalidArgument;
  switch (fault_.load(std::memory_order_relaxed)) {
    case Fault::None: return Status::Ok;
    case Fault::OutOfRange:
      return failure->say(kStatus, OPTION("executor->parallel_for") " ran item %" PRId64 ", expected items 0 to %d",
                          fault_item_, num_items_ - 1);
    case Fault::Twice:
      return failure->say(
          kStatus, OPTION("executor->parallel_for") " ran item %" PRId64 " twice, expected each of its %d items once",
          fault_item_, num_items_);
    case Fault::Undone:
      return failure->say(
          kStatus,
          OPTION(
              "executor->parallel_for") " returned before its %d items were done, expected it to run each and to wait",
          num_items_);
    case Fault::Thrown: break;
  }
  return failure->say(
      kStatus, OPTION("executor->parallel_for") " threw a C++ exception, expected it to run its %d items and to return",
      num_items_);
}

bool HostExecutor::run_skipped_items() {
  bool is_any = false;
  for (int32_t worker = 0; worker < num_items_; ++worker) {
    if (!claim(worker)) continue;
    is_any = true;
    shared_.work(worker);
  }
  return is_any;
}

void HostExecutor::run_item(void* task, int64_t item) {
  // The host's thread may have any floating-point environment.
  const platform::FloatingPointEnvironment environment;
  const auto* called = static_cast<const Task*>(task);
  HostExecutor& self = *called->executor;
  // Too late: the loop of this call is closed.
  if (!self.shared_.enter(static_cast<uint32_t>(called - self.tasks_))) return;
  if (item < 0 || item >= self.num_items_) {
    self.note(Fault::OutOfRange, item);
  } else if (!self.claim(static_cast<int32_t>(item))) {
    self.note(Fault::Twice, item);
  } else {
    self.shared_.work(static_cast<int32_t>(item));
  }
  self.shared_.leave();
}

// Keeps the first fault only.
void HostExecutor::note(Fault fault, int64_t item) {
  Fault none = Fault::None;
  if (fault_.compare_exchange_strong(none, fault, std::memory_order_relaxed)) fault_item_ = item;
}

}  // namespace heed::cpu
