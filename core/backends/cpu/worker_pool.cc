// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/worker_pool.h"

#include <pthread.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <new>

#include "backends/cpu/futex.h"
#include "base/floating_point_environment.h"

namespace heed::cpu {
namespace {

// How long a thread waits awake for the next loop, from the end of the last one: longer than the few microseconds
// between two loops of a forward, shorter than anybody would notice. A call each 10 ms leaves the processors idle for
// 99.7 % of the rest.
constexpr std::chrono::nanoseconds kSpinTime = std::chrono::microseconds(30);

// How long it waits awake for others who are at work. About as long as the items of a large loop take; who gives up
// then loses 10 microseconds once more in 200.
constexpr std::chrono::nanoseconds kLoopSpinTime = std::chrono::microseconds(200);

// A thread that sleeps comes 10 to 20 microseconds after it was called, and calling it takes 2 to 5. A loop of less
// than this, 50 microseconds at 100 GFLOP/s, is over sooner without it.
constexpr double kFlopsWorthWaking = 5e6;

// Kernels take at most 64 KB of it. The rest is for what the C library puts there, the thread-local variables of the
// whole program among it; memory that nobody touches costs nothing.
constexpr size_t kStackBytes = size_t{1} << 20;

// Signals that the system sends to the process, for a handler or sigwait, belong to the host's threads. Those that a
// thread brings on itself are left to it, so that a host that reports crashes hears of them.
sigset_t signals_of_others() {
  sigset_t signals;
  ::sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) ::sigdelset(&signals, own);
  return signals;
}

}  // namespace

struct WorkerPool::Thread {
  WorkerPool* pool;
  int32_t worker;
  pthread_t handle;
};

size_t WorkerPool::num_bytes(int32_t num_workers) {
  return sizeof(WorkerPool) + static_cast<size_t>(num_workers - 1) * sizeof(Thread);
}

WorkerPool* WorkerPool::construct(void* memory, int32_t num_workers, int32_t num_processors) {
  static_assert(alignof(WorkerPool) == kMemoryAlignment && sizeof(WorkerPool) % alignof(Thread) == 0);
  auto* threads = reinterpret_cast<Thread*>(static_cast<char*>(memory) + sizeof(WorkerPool));
  return new (memory) WorkerPool(num_workers, num_processors, threads);
}

// Where there are more threads than processors, one that waits awake keeps another from working.
WorkerPool::WorkerPool(int32_t num_workers, int32_t num_processors, Thread* threads)
    : num_workers_(num_workers), may_spin_(num_workers <= num_processors), threads_(threads) {
  for (int32_t i = 0; i < num_workers - 1; ++i) new (&threads_[i]) Thread{this, i + 1, {}};
}

WorkerPool::~WorkerPool() {
  // A child has a copy of the handles, but not the threads.
  if (process_.load(std::memory_order_acquire) != process_number()) return;
  is_over_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(round_, INT_MAX);
  for (int32_t i = 0; i < num_threads_; ++i) ::pthread_join(threads_[i].handle, nullptr);
}

void WorkerPool::start() {
  if (process_.load(std::memory_order_acquire) == process_number()) return;
  // Somebody else is making them.
  if (!lock_.try_lock()) return;
  if (process_.load(std::memory_order_relaxed) != process_number()) make_threads();
  lock_.unlock();
}

void WorkerPool::make_threads() {
  // What an ancestor's threads have left.
  shared_.reset();
  num_asleep_.store(0, std::memory_order_relaxed);
  num_threads_ = 0;
  sigset_t before;
  const sigset_t blocked = signals_of_others();
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) == 0) {
    ::pthread_attr_setstacksize(&attributes, kStackBytes);
    const auto run = [](void* argument) -> void* {
      const auto* thread = static_cast<Thread*>(argument);
      ::pthread_setname_np(::pthread_self(), "heed-worker");
      // A thread begins in the environment of whoever makes it.
      const FloatingPointEnvironment environment;
      thread->pool->serve(thread->worker);
      return nullptr;
    };
    while (num_threads_ < num_workers_ - 1) {
      Thread& thread = threads_[num_threads_];
      if (::pthread_create(&thread.handle, &attributes, run, &thread) != 0) break;
      ++num_threads_;
    }
    ::pthread_attr_destroy(&attributes);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  process_.store(process_number(), std::memory_order_release);
}

Status WorkerPool::run(const Loop& loop, int32_t num_workers, Failure*) {
  const uint32_t process = process_.load(std::memory_order_acquire);
  if (process == 0 || !lock_.try_lock()) {
    loop.run_alone();
    return Status::Ok;
  }
  if (process_.load(std::memory_order_relaxed) != process_number()) make_threads();
  const int32_t num_helpers = std::min(num_workers - 1, num_threads_);
  const bool wakes = is_worth_waking(loop);
  if (!wakes && num_asleep_.load(std::memory_order_relaxed) == num_threads_) {
    loop.run_alone();
  } else {
    const uint32_t round = round_.load(std::memory_order_relaxed) + 1;
    shared_.open(loop, round, static_cast<uint32_t>(num_helpers), num_helpers + 1);
    round_.store(round, std::memory_order_seq_cst);
    if (wakes) wake(num_helpers, num_asleep_.load(std::memory_order_seq_cst));
    shared_.work(0);
    shared_.close();
    shared_.wait_until_empty(may_spin_ ? kLoopSpinTime : std::chrono::nanoseconds::zero());
  }
  end_of_last_ = SpinClock::now();
  lock_.unlock();
  return Status::Ok;
}

// By what it does itself, or because more loops seem to follow.
bool WorkerPool::is_worth_waking(const Loop& loop) const {
  return loop.flops >= kFlopsWorthWaking || (may_spin_ && SpinClock::now() - end_of_last_ < kSpinTime);
}

// Those awake see the new round by themselves.
void WorkerPool::wake(int32_t num_helpers, int32_t num_asleep) {
  const int32_t num_awake = num_threads_ - num_asleep;
  const int32_t missing = std::min(num_helpers - num_awake, num_asleep);
  if (missing > 0) futex_wake(round_, missing);
}

void WorkerPool::serve(int32_t worker) {
  uint32_t seen = 0;
  SpinClock::time_point end;
  for (;;) {
    wait_for_round(seen, end);
    seen = round_.load(std::memory_order_acquire);
    if (is_over_.load(std::memory_order_relaxed)) return;
    if (!shared_.enter(seen)) continue;
    shared_.work(worker);
    shared_.leave();
    if (!may_spin_) continue;
    spin_until(SpinClock::now() + kLoopSpinTime,
               [&] { return !shared_.is_busy() || round_.load(std::memory_order_relaxed) != seen; });
    end = SpinClock::now() + kSpinTime;
  }
}

void WorkerPool::wait_for_round(uint32_t seen, SpinClock::time_point end) {
  const auto has_changed = [&] { return round_.load(std::memory_order_seq_cst) != seen; };
  if (spin_until(end, has_changed)) return;
  // Either the caller sees here that there is one more to wake, or this thread sees the new round before it sleeps.
  num_asleep_.fetch_add(1, std::memory_order_seq_cst);
  while (!has_changed()) futex_wait(round_, seen);
  num_asleep_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace heed::cpu
