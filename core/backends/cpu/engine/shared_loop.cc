// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/engine/shared_loop.h"

#include <algorithm>

#include "backends/cpu/engine/spin.h"
#include "platform/floating_point_environment.h"
#include "platform/wait.h"

namespace heed::cpu {

static_assert(SharedLoop::kMaxEntries >= kMaxThreads);

void SharedLoop::open(const Loop& loop, uint32_t round, uint32_t num_entries, int32_t num_workers) {
  loop_ = loop;
  num_shares_ = std::min(num_workers, kMaxShares);
  for (int32_t share = 0; share < num_shares_; ++share)
    shares_[share].next_task.store(share, std::memory_order_relaxed);
  const uint32_t round_bits = (round % kNumRounds) << kRoundShift;
  gate_.store(kOpen | round_bits | num_entries * kOneEntry, std::memory_order_release);
}

uint32_t SharedLoop::close() { return gate_.fetch_and(~kOpen, std::memory_order_acquire) & kInsideMask; }

void SharedLoop::wait_until_empty(std::chrono::nanoseconds spin_time) {
  const auto is_empty = [this] { return (gate_.load(std::memory_order_acquire) & kInsideMask) == 0; };
  if (spin_until(SpinClock::now() + spin_time, is_empty)) return;
  gate_.fetch_or(kAwaited, std::memory_order_relaxed);
  for (uint32_t gate = gate_.load(std::memory_order_acquire); (gate & kInsideMask) != 0;
       gate = gate_.load(std::memory_order_acquire))
    platform::wait_while_equal(gate_, gate);
}

bool SharedLoop::enter(uint32_t round) {
  const uint32_t round_bits = (round % kNumRounds) << kRoundShift;
  uint32_t gate = gate_.load(std::memory_order_relaxed);
  do {
    if ((gate & kOpen) == 0 || (gate & kRoundMask) != round_bits || (gate & kEntriesMask) == 0) return false;
  } while (!gate_.compare_exchange_weak(gate, gate - kOneEntry + kOneInside, std::memory_order_acquire,
                                        std::memory_order_relaxed));
  return true;
}

void SharedLoop::leave() {
  const uint32_t before = gate_.fetch_sub(kOneInside, std::memory_order_release);
  if ((before & kInsideMask) == kOneInside && (before & kAwaited) != 0) platform::wake(gate_, 1);
}

void SharedLoop::work(int32_t worker) {
  const Loop loop = loop_;
  const platform::FlushedSubnormals subnormals(loop.flushes_subnormals);
  const int32_t num_shares = num_shares_;
  for (int32_t i = 0; i < num_shares; ++i) {
    std::atomic<int64_t>& next_task = shares_[(worker + i) % num_shares].next_task;
    // Read before it is changed, so that a worker that finds nothing leaves the cache line to the worker that uses it.
    while (next_task.load(std::memory_order_relaxed) < loop.num_tasks) {
      // The gate orders memory: what the tasks read was written before the gate was opened, and what they write is
      // visible after their worker has left.
      const int64_t task = next_task.fetch_add(num_shares, std::memory_order_relaxed);
      if (task < loop.num_tasks && !loop.run(task, worker)) return;
    }
  }
}

}  // namespace heed::cpu
