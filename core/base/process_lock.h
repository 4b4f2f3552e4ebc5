// SPDX-License-Identifier: Apache-2.0
// A lock that a child process can still take after a fork. A child has a copy of the parent's memory but none of its
// other threads: an ordinary lock that one of them held would never be unlocked in the child.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/process.h"

namespace heed {

// No thread waits for it. A forked child finds it unlocked, even if a thread of the parent held it. So the guarded
// state must stay usable if a thread stops in the middle of changing it.
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
