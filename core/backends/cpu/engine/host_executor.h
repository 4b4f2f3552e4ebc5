// SPDX-License-Identifier: Apache-2.0
// Runs loops on the host program's threads. parallel_for runs one item for each worker, and each item runs tasks of the
// loop, as heed's own threads do. If parallel_for breaks its contract, the call fails, but all tasks are done: the
// caller runs items that were skipped, and an item that is run twice or too late does nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/engine/shared_loop.h"
#include "base/process_lock.h"

namespace heed::cpu {

class HostExecutor final : public Team {
 public:
  HostExecutor(const Executor& executor, int32_t num_workers);

  int32_t num_workers() const override { return num_workers_; }
  Status run(const Loop& loop, int32_t num_workers, Failure* failure) override;

 private:
  // The `task` argument of parallel_for. The last kNumRounds rounds each have their own object. So an item that runs
  // after the end of its round is recognized by the address, which still points to valid memory.
  struct Task {
    HostExecutor* executor;
  };
  enum class Fault : int32_t { None, OutOfRange, Twice, Undone, Thrown };

  static void run_item(void* task, int64_t item);
  void note(Fault fault, int64_t item);
  bool claim(int32_t worker) { return !is_claimed_[worker].exchange(true, std::memory_order_relaxed); }
  // Runs the items that parallel_for has not run; returns whether there were any.
  bool run_skipped_items();
  Status report(Failure* failure) const;

  const Executor executor_;
  const int32_t num_workers_;

  ProcessLock lock_;
  uint32_t round_ = 0;
  Task tasks_[SharedLoop::kNumRounds];
  SharedLoop shared_;

  // State of the open loop.
  int32_t num_items_ = 0;
  std::atomic<Fault> fault_ = Fault::None;
  int64_t fault_item_ = 0;
  std::atomic<bool> is_claimed_[kMaxThreads] = {};
};

}  // namespace heed::cpu
