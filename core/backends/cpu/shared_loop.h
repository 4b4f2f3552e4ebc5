// SPDX-License-Identifier: Apache-2.0
// One loop at a time that other threads may join while it is open. They come and go by themselves: whoever opened it
// does what is left, and at its end waits for those alone who are inside, not for those who have yet to wake up.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "backends/cpu/parallel.h"
#include "base/memory.h"

namespace heed::cpu {

class SharedLoop {
 public:
  // Rounds are told apart modulo this.
  static constexpr uint32_t kNumRounds = 64;
  // At most so many are let in.
  static constexpr uint32_t kMaxEntries = 2047;

  // Nothing is open and nobody inside, whatever was there: a forked child has the gate of a loop that it has not.
  void reset() { gate_.store(0, std::memory_order_relaxed); }

  // For the one who has the loop: between close and the next open nobody is inside. So many workers are expected.
  void open(const Loop& loop, uint32_t round, uint32_t num_entries, int32_t num_workers);
  // Lets nobody in any more; how many are still inside.
  uint32_t close();
  // Of a closed loop; awake for so long, then asleep.
  void wait_until_empty(std::chrono::nanoseconds spin_time);

  // For all others. Whether the caller may join; not, if the loop of that round is closed or has enough.
  bool enter(uint32_t round);
  // The last touch: when it returns, this object may be gone.
  void leave();

  // Whether somebody may be at work.
  bool is_busy() const { return (gate_.load(std::memory_order_relaxed) & (kOpen | kInsideMask)) != 0; }

  // For those inside and the one who opened it. Does items until there are none left: first the worker's share, then
  // what others have left of theirs.
  void work(int32_t worker);

 private:
  // What is open, in one word: who enters decides by a single exchange.
  static constexpr uint32_t kOneInside = 1;
  static constexpr uint32_t kInsideMask = (1u << 12) - 1;
  static constexpr uint32_t kOneEntry = 1u << 12;
  static constexpr uint32_t kEntriesMask = kMaxEntries << 12;
  static constexpr uint32_t kRoundShift = 23;
  static constexpr uint32_t kRoundMask = (kNumRounds - 1) << kRoundShift;
  static constexpr uint32_t kOpen = 1u << 29;
  static constexpr uint32_t kAwaited = 1u << 30;  // its owner sleeps until nobody is inside

  alignas(kMemoryAlignment) std::atomic<uint32_t> gate_ = 0;
  // Share s of n has the items s, s + n, s + 2n and so on, which is as fair as one counter for all where the largest
  // come first, and gives a worker the same items, call after call: what it has in its caches, as the other operations
  // of a layer left it there, where all of a team take part. With one counter two threads took 10 to 15 % longer for 8
  // times 12 heads of 128 queries. Beyond so many workers, several begin with the same share.
  static constexpr int32_t kMaxShares = 16;
  // Alone on its cache line, since its worker writes it all the time.
  struct alignas(kMemoryAlignment) Share {
    std::atomic<int64_t> next_item = 0;
  };

  Loop loop_;
  int32_t num_shares_ = 1;
  Share shares_[kMaxShares];
};

}  // namespace heed::cpu
