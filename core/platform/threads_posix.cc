// SPDX-License-Identifier: Apache-2.0
#include "platform/threads.h"

#include <pthread.h>

#include <csignal>
#include <ctime>
#include <initializer_list>

namespace heed::platform {
namespace {

static_assert(sizeof(pthread_t) <= sizeof(uintptr_t));

sigset_t signals_of_the_process() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&signals, own);
  return signals;
}

void* run_thread(void* argument) {
  const Thread& thread = *static_cast<const Thread*>(argument);
  ::pthread_setname_np(::pthread_self(), thread.name);
  thread.run(thread.argument);
  return nullptr;
}

}  // namespace

bool start_thread(Thread& thread, size_t stack_bytes) noexcept {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  ::pthread_attr_setstacksize(&attributes, stack_bytes);
  // A thread begins with the signal mask of its creator.
  sigset_t before;
  const sigset_t blocked = signals_of_the_process();
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  pthread_t handle{};
  const bool is_started = ::pthread_create(&handle, &attributes, run_thread, &thread) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (is_started) thread.handle = static_cast<uintptr_t>(handle);
  return is_started;
}

void join_thread(Thread& thread) noexcept { ::pthread_join(static_cast<pthread_t>(thread.handle), nullptr); }

int64_t nanoseconds_of_thread() noexcept {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

NoCancellation::NoCancellation() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }

NoCancellation::~NoCancellation() { ::pthread_setcancelstate(before_, nullptr); }

}  // namespace heed::platform
