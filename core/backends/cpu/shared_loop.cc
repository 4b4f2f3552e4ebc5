// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/shared_loop.h"

#include "backends/cpu/futex.h"
#include "backends/cpu/spin.h"

namespace heed::cpu {

static_assert(SharedLoop::kMaxEntries >= kMaxThreads);

void SharedLoop::open(const Loop& loop, uint32_t round, uint32_t num_entries) {
  loop_ = loop;
  next_item_.store(0, std::memory_order_relaxed);
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
    futex_wait(gate_, gate);
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
  if ((before & kInsideMask) == kOneInside && (before & kAwaited) != 0) futex_wake(gate_, 1);
}

void SharedLoop::work(int32_t worker) {
  const Loop loop = loop_;
  // The order is that of the gate: what the items read was there before it opened, what they write is seen once their
  // worker has left.
  for (int64_t item = next_item_.fetch_add(1, std::memory_order_relaxed); item < loop.num_items;
       item = next_item_.fetch_add(1, std::memory_order_relaxed))
    loop.call(loop.function, item, worker);
}

}  // namespace heed::cpu
