// SPDX-License-Identifier: Apache-2.0
// heed's own threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/engine/shared_loop.h"
#include "backends/cpu/engine/spin.h"
#include "base/memory.h"
#include "base/process_lock.h"

namespace heed::cpu {

// Has one thread fewer than workers, since the calling thread is a worker too. Between loops the threads spin for a
// short time, because the next loop of the same forward follows within microseconds, and then sleep. A loop that would
// end before sleeping threads have woken up is left to the threads that are awake.
class WorkerPool final : public Team {
 public:
  // Constructed in memory of num_bytes(num_workers) bytes, aligned to kMemoryAlignment. Allocates nothing else but the
  // stacks of its threads, which the system provides. `num_processors`: how many processors the process may use.
  static size_t num_bytes(int32_t num_workers);
  static WorkerPool* construct(void* memory, int32_t num_workers, int32_t num_processors);
  ~WorkerPool();

  // Makes the threads, once. Where the system refuses some, the pool computes with fewer. A forked child, which has no
  // threads, makes new ones at its next loop.
  void start();

  int32_t num_workers() const override { return num_workers_; }
  Status run(const Loop& loop, int32_t num_workers, Failure* failure) override;

 private:
  struct Thread;

  WorkerPool(int32_t num_workers, int32_t num_processors, Thread* threads);

  static void run_thread(void* thread);
  void make_threads();
  bool is_worth_waking(const Loop& loop) const;
  void wake(int32_t num_helpers, int32_t num_asleep);
  void serve(int32_t worker);
  // Returns when the round is no longer `seen`; spins until `end`, then sleeps.
  void wait_for_round(uint32_t seen, SpinClock::time_point end);

  const int32_t num_workers_;
  const bool may_spin_;
  Thread* const threads_;  // num_workers - 1

  // Held while a loop runs, and while the threads are made.
  ProcessLock lock_;
  // The process whose threads these are, as platform::process_number(); 0 before they are made.
  std::atomic<uint32_t> process_ = 0;
  int32_t num_threads_ = 0;
  SpinClock::time_point end_of_last_;

  SharedLoop shared_;

  // What waiting threads read, on a cache line by itself, so that other writes do not disturb them.
  alignas(kMemoryAlignment) std::atomic<uint32_t> round_ = 0;
  std::atomic<int32_t> num_asleep_ = 0;
  std::atomic<bool> is_over_ = false;
};

}  // namespace heed::cpu
