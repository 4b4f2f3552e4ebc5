// SPDX-License-Identifier: Apache-2.0
// heed's own threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/parallel.h"
#include "backends/cpu/shared_loop.h"
#include "backends/cpu/spin.h"
#include "base/memory.h"
#include "base/process_lock.h"

namespace heed::cpu {

// One thread less than workers, since whoever calls is one. The threads sleep between loops, after a short time in
// which they wait awake, as the next loop of the same forward is only microseconds away. A loop that would be over
// before they have woken up is done by those awake.
class WorkerPool final : public Team {
 public:
  // Lies in memory of so many bytes, aligned to kMemoryAlignment, and asks for no more, but for the stacks of its
  // threads, which are the system's. `num_processors` is how many it may use.
  static size_t num_bytes(int32_t num_workers);
  static WorkerPool* construct(void* memory, int32_t num_workers, int32_t num_processors);
  ~WorkerPool();

  // Makes the threads, once; where the system refuses some, computing goes on with those there are. A forked child, in
  // which there are none, makes them anew at its next loop.
  void start();

  int32_t num_workers() const override { return num_workers_; }
  Status run(const Loop& loop, int32_t num_workers, Failure* failure) override;

 private:
  struct Thread;

  WorkerPool(int32_t num_workers, int32_t num_processors, Thread* threads);

  void make_threads();
  bool is_worth_waking(const Loop& loop) const;
  void wake(int32_t num_helpers, int32_t num_asleep);
  void serve(int32_t worker);
  // Until there is another round than this one; awake no longer than `end`.
  void wait_for_round(uint32_t seen, SpinClock::time_point end);

  const int32_t num_workers_;
  const bool may_spin_;
  Thread* const threads_;  // num_workers - 1

  // For one loop at a time, and for making the threads.
  ProcessLock lock_;
  // Whose threads these are, by process_number(); 0 before they are made.
  std::atomic<uint32_t> process_ = 0;
  int32_t num_threads_ = 0;
  SpinClock::time_point end_of_last_;

  SharedLoop shared_;

  // What the threads look at while they wait. Apart from the rest, so that they are not disturbed before it is time.
  alignas(kMemoryAlignment) std::atomic<uint32_t> round_ = 0;
  std::atomic<int32_t> num_asleep_ = 0;
  std::atomic<bool> is_over_ = false;
};

}  // namespace heed::cpu
