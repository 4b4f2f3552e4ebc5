// SPDX-License-Identifier: Apache-2.0
// How many bytes of its thread's stack some work takes.
#pragma once

#include <cstddef>

namespace heed {

// Runs work(argument) on a thread whose stack was filled with a pattern. Returns how many bytes below work's frame were
// written. Throws std::runtime_error where there is no such thread.
size_t stack_bytes_of(void (*work)(void* argument), void* argument);

// `work` must not throw.
template <typename Work>
size_t stack_bytes_of(Work& work) {
  return stack_bytes_of([](void* argument) { (*static_cast<Work*>(argument))(); }, &work);
}

}  // namespace heed
