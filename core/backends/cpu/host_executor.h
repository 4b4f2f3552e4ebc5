// SPDX-License-Identifier: Apache-2.0
// The host program's threads. Its parallel_for runs one item for each worker, and each item runs tasks of the loop, as
// heed's own threads do. parallel_for may break its contract: the caller then runs the items that were skipped, an item
// that comes twice or too late does nothing, and the call in which this happens fails.
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
  // The `task` argument of parallel_for: one object for each of the last rounds, so that a call after the end of its
  // round is recognized by the address, which is still valid memory.
  struct Task {
    HostExecutor* executor;
  };
  enum class Fault : int32_t { None, OutOfRange, Twice, Undone, Thrown };

  static void run_item(void* task, int64_t item);
  void note(Fault fault, int64_t item);
  bool claim(int32_t worker) { return !is_claimed_[worker].exchange(true, std::memory_order_relaxed); }
  // Does the work of workers that parallel_for has not run; returns whether there were any.
  bool do_what_is_left();
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
