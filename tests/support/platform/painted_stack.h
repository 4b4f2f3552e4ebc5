// SPDX-License-Identifier: Apache-2.0
// Measures the stack that a function uses.
#pragma once

#include <cstddef>

namespace heed {

// Runs work(argument) on a thread with a stack that was filled with a pattern. Returns how many bytes below the frame
// of `work` were written. Throws std::runtime_error if the thread cannot be created.
size_t stack_bytes_of(void (*work)(void* argument), void* argument);

// `work` must not throw.
template <typename Work>
size_t stack_bytes_of(Work& work) {
  return stack_bytes_of([](void* argument) { (*static_cast<Work*>(argument))(); }, &work);
}

}  // namespace heed
