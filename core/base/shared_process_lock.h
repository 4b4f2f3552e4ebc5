// SPDX-License-Identifier: Apache-2.0
// A lock for one writer or many readers that a child process can still take after a fork, as ProcessLock.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/process.h"

namespace heed {

// No thread waits for it. A forked child finds it unlocked, even if threads of the parent held it.
class SharedProcessLock {
 public:
  bool try_lock() noexcept {
    uint64_t state = state_.load(std::memory_order_relaxed);
    return count_of(state) == 0 &&
           state_.compare_exchange_strong(state, state_with(kWriter), std::memory_order_acquire);
  }
  void unlock() noexcept { state_.store(state_with(0), std::memory_order_release); }

  bool try_lock_shared() noexcept {
    uint64_t state = state_.load(std::memory_order_relaxed);
    do {
      if (count_of(state) == kWriter) return false;
    } while (!state_.compare_exchange_weak(state, state_with(count_of(state) + 1), std::memory_order_acquire));
    return true;
  }
  // The number of readers is in the lower bits.
  void unlock_shared() noexcept { state_.fetch_sub(1, std::memory_order_release); }

 private:
  static constexpr uint32_t kWriter = UINT32_MAX;

  // The number of readers, or kWriter; 0 if the state is that of a parent process.
  static uint32_t count_of(uint64_t state) noexcept {
    return state >> 32 == platform::process_number() ? static_cast<uint32_t>(state) : 0;
  }
  static uint64_t state_with(uint32_t count) noexcept {
    return static_cast<uint64_t>(platform::process_number()) << 32 | count;
  }

  std::atomic<uint64_t> state_ = 0;
};

}  // namespace heed
