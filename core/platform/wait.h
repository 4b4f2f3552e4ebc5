// SPDX-License-Identifier: Apache-2.0
// Sleeping until a number changes. std::atomic's wait and notify can wake one thread or all, but not as many as there
// are tasks for.
#pragma once

#include <atomic>
#include <cstdint>

namespace heed::platform {

// Returns immediately if the word is not `expected`, otherwise when it is woken; may also return without having been
// woken.
void wait_while_equal(std::atomic<uint32_t>& word, uint32_t expected) noexcept;

// Wakes up to `count` threads. Only the address of the word is used: the word itself may already be freed, if the
// sleeping thread woke up earlier.
void wake(std::atomic<uint32_t>& word, int32_t count) noexcept;

}  // namespace heed::platform
