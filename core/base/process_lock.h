// SPDX-License-Identifier: Apache-2.0
// A lock that a child of fork can take. A child has a copy of the parent's memory, with the state that other threads had
// half changed, but it has none of those threads; a lock that one of them held would never be unlocked.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/process.h"

namespace heed {

// No thread waits for it, and a forked child finds it free, whichever thread held it in the parent. So the guarded state
// must be usable however a thread may have left it.
class ProcessLock {
 public:
  bool try_lock() noexcept {
    const uint32_t self = platform::process_number();
    uint32_t holder = holder_.load(std::memory_order_relaxed);
    return holder != self && holder_.compare_exchange_strong(holder, self, std::memory_order_acquire);
  }
  void unlock() noexcept { holder_.store(kNobody, std::memory_order_release); }

 private:
  static constexpr uint32_t kNobody = 0;
  std::atomic<uint32_t> holder_ = kNobody;
};

}  // namespace heed
