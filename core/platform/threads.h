// SPDX-License-Identifier: Apache-2.0
// Threads as the operating system has them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed::platform {

// Must stay at its address from start_thread until join_thread.
struct Thread {
  // At most 15 characters, static text; debuggers and system tools show it.
  const char* name = nullptr;
  void (*run)(void* argument) = nullptr;
  void* argument = nullptr;
  // pthread_t of POSIX, HANDLE of Windows.
  uintptr_t handle = 0;
};

// False if the system refuses. The thread blocks signals that are sent to the process, which the host's threads handle.
// It does not block signals that a thread causes itself (SIGSEGV, SIGFPE and others), so that a host's crash handler
// receives them.
bool start_thread(Thread& thread, size_t stack_bytes) noexcept;
void join_thread(Thread& thread) noexcept;

// Processor time that the calling thread has used; time in which other threads ran does not count.
int64_t nanoseconds_of_thread() noexcept;

// In its scope the calling thread cannot be cancelled (pthread_cancel). Reading and writing are cancellation points,
// and a cancellation that unwinds through heed would end the process.
class NoCancellation {
 public:
  NoCancellation() noexcept;
  ~NoCancellation();
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = 0;
};

}  // namespace heed::platform
