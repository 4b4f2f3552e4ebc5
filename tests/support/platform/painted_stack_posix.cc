// SPDX-License-Identifier: Apache-2.0
#include "support/platform/painted_stack.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdint>
#include <stdexcept>

namespace heed {

size_t stack_bytes_of(void (*work)(void* argument), void* argument) {
  constexpr size_t kBytes = size_t{1} << 20;
  constexpr uint64_t kPaint = 0x5EED'5EED'5EED'5EED;
  struct Run {
    void (*work)(void* argument);
    void* argument;
    uintptr_t frame;
  };
  void* const stack =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) throw std::runtime_error("no memory for a stack");
  auto* const words = static_cast<volatile uint64_t*>(stack);
  constexpr size_t kWords = kBytes / sizeof(uint64_t);
  for (size_t i = 0; i < kWords; ++i) words[i] = kPaint;

  Run run{work, argument, 0};
  pthread_attr_t attributes;
  pthread_t thread;
  ::pthread_attr_init(&attributes);
  const auto body = [](void* erased) -> void* {
    auto* self = static_cast<Run*>(erased);
    self->frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    self->work(self->argument);
    return nullptr;
  };
  const bool is_made = ::pthread_attr_setstack(&attributes, stack, kBytes) == 0 &&
                       ::pthread_create(&thread, &attributes, body, &run) == 0;
  ::pthread_attr_destroy(&attributes);
  if (is_made) ::pthread_join(thread, nullptr);
  size_t first = 0;
  while (first < kWords && words[first] == kPaint) ++first;
  const size_t used = run.frame - reinterpret_cast<uintptr_t>(stack) - first * sizeof(uint64_t);
  ::munmap(stack, kBytes);
  if (!is_made) throw std::runtime_error("no thread on a stack that the test provides");
  return used;
}

}  // namespace heed
