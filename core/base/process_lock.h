// SPDX-License-Identifier: Apache-2.0
// What fork asks of those who share state between threads: the child gets a copy of the memory, with whatever other
// threads had half done in it, but none of those threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace heed {

// A number of this process that none of its ancestors has, and never 0.
uint32_t process_number() noexcept;

// A lock that nobody waits for, and that a forked child finds free, whichever thread held it in the parent. What it
// guards must therefore be usable from any state in which it can be left.
class ProcessLock {
 public:
  bool try_lock() noexcept {
    const uint32_t self = process_number();
    uint32_t holder = holder_.load(std::memory_order_relaxed);
    return holder != self && holder_.compare_exchange_strong(holder, self, std::memory_order_acquire);
  }
  void unlock() noexcept { holder_.store(kNobody, std::memory_order_release); }

 private:
  static constexpr uint32_t kNobody = 0;
  std::atomic<uint32_t> holder_ = kNobody;
};

}  // namespace heed
