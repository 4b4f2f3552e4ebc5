// SPDX-License-Identifier: Apache-2.0
// How much of its thread's stack some work takes.
#pragma once

#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace heed::capi_test {

// Runs work() on a thread whose stack was filled with a pattern; returns how many bytes below the work's own frame were
// written. `work` must not throw.
template <typename Work>
size_t stack_bytes_of(Work& work) {
  constexpr size_t kBytes = size_t{1} << 20;
  constexpr uint64_t kPaint = 0x5EED'5EED'5EED'5EED;
  struct Run {
    Work* work;
    uintptr_t frame;
  };
  void* const stack =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) throw std::runtime_error("no memory for a stack");
  auto* const words = static_cast<volatile uint64_t*>(stack);
  constexpr size_t kWords = kBytes / sizeof(uint64_t);
  for (size_t i = 0; i < kWords; ++i) words[i] = kPaint;

  Run run{&work, 0};
  pthread_attr_t attributes;
  pthread_t thread;
  ::pthread_attr_init(&attributes);
  const bool is_made = ::pthread_attr_setstack(&attributes, stack, kBytes) == 0 &&
                       ::pthread_create(
                           &thread, &attributes,
                           [](void* argument) -> void* {
                             auto* self = static_cast<Run*>(argument);
                             self->frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
                             (*self->work)();
                             return nullptr;
                           },
                           &run) == 0;
  ::pthread_attr_destroy(&attributes);
  if (is_made) ::pthread_join(thread, nullptr);
  size_t first = 0;
  while (first < kWords && words[first] == kPaint) ++first;
  const size_t used = run.frame - reinterpret_cast<uintptr_t>(stack) - first * sizeof(uint64_t);
  ::munmap(stack, kBytes);
  if (!is_made) throw std::runtime_error("no thread on a stack of the test's own");
  return used;
}

}  // namespace heed::capi_test
