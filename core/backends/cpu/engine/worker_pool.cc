// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/engine/worker_pool.h"

#include <algorithm>
#include <climits>
#include <new>

#include "platform/floating_point_environment.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "platform/wait.h"

namespace heed::cpu {
namespace {

// How long a thread spins for the next loop after the end of the last one: longer than the few microseconds between two
// loops of a forward, short enough to cost little. With a call each 10 ms the processors are idle for 99.7 % of the
// time between calls.
constexpr std::chrono::nanoseconds kSpinTime = std::chrono::microseconds(30);

// How long a thread spins for other threads to end their tasks: about as long as a task of a large loop takes. A thread
// that goes to sleep after this loses some 10 microseconds to waking up, after at least 200 of waiting.
constexpr std::chrono::nanoseconds kLoopSpinTime = std::chrono::microseconds(200);

// A sleeping thread starts 10 to 20 microseconds after the call that wakes it, and that call takes 2 to 5. A loop with
// fewer FLOPs than this, 50 microseconds at 100 GFLOP/s, ends sooner without the thread.
constexpr double kFlopsWorthWaking = 5e6;

// Kernels take at most 64 KB of the stack. The rest is for what the C library stores there, such as the thread-local
// variables of the whole program; memory that is never touched costs nothing.
constexpr size_t kStackBytes = size_t{1} << 20;

}  // namespace

struct WorkerPool::Thread {
  WorkerPool* pool;
  int32_t worker;
  platform::Thread system;
};

size_t WorkerPool::num_bytes(int32_t num_workers) {
  return sizeof(WorkerPool) + static_cast<size_t>(num_workers - 1) * sizeof(Thread);
}

WorkerPool* WorkerPool::construct(void* memory, int32_t num_workers, int32_t num_processors) {
  static_assert(alignof(WorkerPool) == kMemoryAlignment && sizeof(WorkerPool) % alignof(Thread) == 0);
  auto* threads = reinterpret_cast<Thread*>(static_cast<char*>(memory) + sizeof(WorkerPool));
  return new (memory) WorkerPool(num_workers, num_processors, threads);
}

// With more threads than processors, a spinning thread would keep another from working.
WorkerPool::WorkerPool(int32_t num_workers, int32_t num_processors, Thread* threads)
    : num_workers_(num_workers), may_spin_(num_workers <= num_processors), threads_(threads) {
  for (int32_t i = 0; i < num_workers - 1; ++i) {
    Thread& thread = *new (&threads_[i]) Thread{this, i + 1, {}};
    thread.system.name = "heed-worker";
    thread.system.run = run_thread;
    thread.system.argument = &thread;
  }
}

WorkerPool::~WorkerPool() {
  // A forked child has a copy of the handles, but not the threads.
  if (process_.load(std::memory_order_acquire) != platform::process_number()) return;
  is_over_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_seq_cst);
  platform::wake(round_, INT_MAX);
  for (int32_t i = 0; i < num_threads_; ++i) platform::join_thread(threads_[i].system);
}

void WorkerPool::start() {
  if (process_.load(std::memory_order_acquire) == platform::process_number()) return;
  // Another thread is making them.
  if (!lock_.try_lock()) return;
  if (process_.load(std::memory_order_relaxed) != platform::process_number()) make_threads();
  lock_.unlock();
}

void WorkerPool::make_threads() {
  // After a fork: forget the state of the parent's threads.
  shared_.reset();
  num_asleep_.store(0, std::memory_order_relaxed);
  num_threads_ = 0;
  while (num_threads_ < num_workers_ - 1 && platform::start_thread(threads_[num_threads_].system, kStackBytes))
    ++num_threads_;
  process_.store(platform::process_number(), std::memory_order_release);
}

void WorkerPool::run_thread(void* argument) {
  const auto* thread = static_cast<const Thread*>(argument);
  // A thread begins with the floating-point environment of its creator.
  const platform::FloatingPointEnvironment environment;
  thread->pool->serve(thread->worker);
}

Status WorkerPool::run(const Loop& loop, int32_t num_workers, Failure*) {
  const uint32_t process = process_.load(std::memory_order_acquire);
  if (process == 0 || !lock_.try_lock()) {
    loop.run_alone();
    return Status::Ok;
  }
  if (process_.load(std::memory_order_relaxed) != platform::process_number()) make_threads();
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

// True for a large loop, and for a small one soon after the last loop, since more are likely to follow.
bool WorkerPool::is_worth_waking(const Loop& loop) const {
  return loop.flops >= kFlopsWorthWaking || (may_spin_ && SpinClock::now() - end_of_last_ < kSpinTime);
}

// Threads that are awake see the new round without being woken.
void WorkerPool::wake(int32_t num_helpers, int32_t num_asleep) {
  const int32_t num_awake = num_threads_ - num_asleep;
  const int32_t missing = std::min(num_helpers - num_awake, num_asleep);
  if (missing > 0) platform::wake(round_, missing);
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
  // Sequential consistency: either the caller of wake sees this thread in num_asleep_, or this thread sees the new
  // round before it sleeps.
  num_asleep_.fetch_add(1, std::memory_order_seq_cst);
  while (!has_changed()) platform::wait_while_equal(round_, seen);
  num_asleep_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace heed::cpu
