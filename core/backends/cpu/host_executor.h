// SPDX-License-Identifier: Apache-2.0
// The host's threads: its parallel_for runs one item for each worker, which then does items of the loop as heed's own
// threads do. The host's code is not trusted to do what it promises: work that it leaves is done by the caller, work
// that it asks for too often or too late is not done again, and the call that this happens to fails.
#pragma once

#include <atomic>
#include <cstdint>

#include "backends/cpu/parallel.h"
#include "backends/cpu/shared_loop.h"
#include "base/process_lock.h"

namespace heed::cpu {

class HostExecutor final : public Team {
 public:
  HostExecutor(const Executor& executor, int32_t num_workers);

  int32_t num_workers() const override { return num_workers_; }
  Status run(const Loop& loop, int32_t num_workers, Failure* failure) override;

 private:
  // What parallel_for gets as its task: one for each of the last rounds, so that a call that comes after its round is
  // known by its address, and finds memory.
  struct Task {
    HostExecutor* executor;
  };
  enum class Fault : int32_t { None, OutOfRange, Twice, Undone, Thrown };

  static void run_item(void* task, int64_t item);
  void note(Fault fault, int64_t item);
  bool claim(int32_t worker) { return !is_claimed_[worker].exchange(true, std::memory_order_relaxed); }
  // Does the work of workers whom nobody has called; whether there were any.
  bool do_what_is_left();
  Status report(Failure* failure) const;

  const Executor executor_;
  const int32_t num_workers_;

  ProcessLock lock_;
  uint32_t round_ = 0;
  Task tasks_[SharedLoop::kNumRounds];
  SharedLoop shared_;

  // Of the loop that is open.
  int32_t num_items_ = 0;
  std::atomic<Fault> fault_ = Fault::None;
  int64_t fault_item_ = 0;
  std::atomic<bool> is_claimed_[kMaxThreads] = {};
};

}  // namespace heed::cpu
