// SPDX-License-Identifier: Apache-2.0
// Sleeping until a number changes. Not std::atomic's wait and notify, which can wake one or all, but not as many as
// there is work for.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace heed::cpu {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);

// Returns at once where the word is not `expected`, and otherwise when it is woken; now and then also without a reason.
inline void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

// Only the word's address is used: it may be gone already, if whoever slept on it woke up by itself.
inline void futex_wake(std::atomic<uint32_t>& word, int32_t count) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace heed::cpu
