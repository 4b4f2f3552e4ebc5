// SPDX-License-Identifier: Apache-2.0
// One loop at a time that other threads may join while it is open. Its owner runs the remaining tasks. At the end it
// waits only for threads that have joined, not for threads that are still waking up.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "backends/cpu/engine/parallel.h"
#include "base/memory.h"

namespace heed::cpu {

class SharedLoop {
 public:
  // Two rounds are distinguished by their numbers modulo this.
  static constexpr uint32_t kNumRounds = 64;
  // The largest number of threads that may join a loop.
  static constexpr uint32_t kMaxEntries = 2047;

  // No loop is open and no thread has joined. Called after a fork: the child inherits the gate but no workers.
  void reset() { gate_.store(0, std::memory_order_relaxed); }

  // For the owner of the loop; no thread may be inside. `num_workers`: how many workers, the owner included, are
  // expected to take part.
  void open(const Loop& loop, uint32_t round, uint32_t num_entries, int32_t num_workers);
  // No thread can join any more. Returns how many are still inside.
  uint32_t close();
  // After close: waits until no thread is inside, without sleeping for spin_time.
  void wait_until_empty(std::chrono::nanoseconds spin_time);

  // For all other threads: joins the loop of that round. False where it is closed or has enough threads.
  bool enter(uint32_t round);
  // Leaves the loop that enter joined. The owner may destroy this object before leave() returns.
  void leave();

  // Whether a loop is open or a thread still inside.
  bool is_busy() const { return (gate_.load(std::memory_order_relaxed) & (kOpen | kInsideMask)) != 0; }

  // For threads inside and the owner: runs tasks until none is left, first those of the worker's share, then those of
  // the other shares.
  void work(int32_t worker);

 private:
  // The state in one word, so that a thread joins by one exchange: threads inside, threads that may still join, round.
  static constexpr uint32_t kOneInside = 1;
  static constexpr uint32_t kInsideMask = (1u << 12) - 1;
  static constexpr uint32_t kOneEntry = 1u << 12;
  static constexpr uint32_t kEntriesMask = kMaxEntries << 12;
  static constexpr uint32_t kRoundShift = 23;
  static constexpr uint32_t kRoundMask = (kNumRounds - 1) << kRoundShift;
  static constexpr uint32_t kOpen = 1u << 29;
  static constexpr uint32_t kAwaited = 1u << 30;  // the owner sleeps until no thread is inside

  alignas(kMemoryAlignment) std::atomic<uint32_t> gate_ = 0;
  // Share s of n has the tasks s, s + n, s + 2n and so on. Where the largest tasks come first, this balances the load
  // as well as one counter for all tasks. It also gives a worker the same tasks in each call, so that their data may
  // still be in its caches from the layer's previous operation. With one counter two threads took 10 to 15 % longer for
  // 8 x 12 heads of 128 queries. With more workers than kMaxShares, several begin with the same share.
  static constexpr int32_t kMaxShares = 16;
  // Alone on a cache line, because its worker writes it for each task.
  struct alignas(kMemoryAlignment) Share {
    std::atomic<int64_t> next_task = 0;
  };

  Loop loop_;
  int32_t num_shares_ = 1;
  Share shares_[kMaxShares];
};

}  // namespace heed::cpu
