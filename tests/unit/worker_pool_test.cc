// SPDX-License-Identifier: Apache-2.0
// heed's own threads: each task runs once, for any calling thread and any number of threads.
#include "backends/cpu/engine/worker_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "each_task_once.h"
#include "support/platform/child_process.h"
#include "support/platform/limits.h"
#include "support/platform/threads.h"

namespace heed::cpu {
namespace {

// As in SharedLoop: with more workers than these, several start with the same share.
constexpr int32_t kMaxShares = 16;

struct Destroy {
  void operator()(WorkerPool* pool) const {
    pool->~WorkerPool();
    std::free(pool);
  }
};
using Pool = std::unique_ptr<WorkerPool, Destroy>;

Pool make_pool(int32_t num_workers, int32_t num_processors = 2) {
  void* memory = nullptr;
  Failure failure;
  EXPECT_EQ(host_allocate({}, WorkerPool::num_bytes(num_workers), kMemoryAlignment, &memory, &failure), Status::Ok);
  return Pool(WorkerPool::construct(memory, num_workers, num_processors));
}

Pool make_started_pool(int32_t num_workers, int32_t num_processors = 2) {
  Pool pool = make_pool(num_workers, num_processors);
  pool->start();
  return pool;
}

// How many workers take part in a loop of `most` tasks in which each waits for the others.
int32_t count_workers_that_take_part(Team& team, int32_t most) {
  std::atomic<int32_t> num_here = 0;
  Failure failure;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  run_tasks(team, most, kMuch, &failure, [&](int64_t, int32_t) {
    ++num_here;
    while (num_here < most && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  return num_here;
}

// Runs a loop with this number of workers. The class Workers would derive the number from the tasks and operations.
template <typename Function>
void run_with(WorkerPool& pool, int32_t num_workers, int64_t num_tasks, const Function& function) {
  const auto call = [](const void* erased, int64_t task, int32_t worker) {
    (*static_cast<const Function*>(erased))(task, worker);
  };
  Failure failure;
  EXPECT_EQ(
      pool.run({.call = call, .function = &function, .num_tasks = num_tasks, .flops = kMuch}, num_workers, &failure),
      Status::Ok)
      << failure.text;
}

TEST(WorkerPool, DoesEachItemOnce) {
  for (int32_t num_workers = 1; num_workers <= 8; ++num_workers) {
    const Pool pool = make_started_pool(num_workers);
    EXPECT_EQ(pool->num_workers(), num_workers);
    for (const int64_t num_tasks : {0, 1, 2, 3, 7, 8, 9, 1000}) {
      for (int round = 0; round < 20; ++round) expect_each_task_once(*pool, num_tasks);
    }
  }
}

TEST(WorkerPool, MayHaveMoreWorkersThanShares) {
  for (const int32_t num_workers : {kMaxShares + 1, 40}) {
    const Pool pool = make_started_pool(num_workers);
    // Every worker gets an task, although several start with the same share.
    EXPECT_EQ(count_workers_that_take_part(*pool, num_workers), num_workers);
    for (const int64_t num_tasks : {1, 16, 17, 1000}) {
      for (int round = 0; round < 20; ++round) expect_each_task_once(*pool, num_tasks);
    }
  }
}

// Workers never requests more workers than tasks. Here the pool is called directly, and some shares are empty from the
// start.
TEST(WorkerPool, MayBeAskedForMoreWorkersThanTasks) {
  for (const int32_t num_workers : {2, kMaxShares, kMaxShares + 1, 40}) {
    const Pool pool = make_started_pool(num_workers);
    for (const size_t num_tasks : {0, 1, 3, 15, 16, 17}) {
      for (int round = 0; round < 20; ++round) {
        std::vector<int> times(num_tasks, 0);
        run_with(*pool, num_workers, static_cast<int64_t>(num_tasks),
                 [&](int64_t task, int32_t) { ++times[static_cast<size_t>(task)]; });
        EXPECT_EQ(times, std::vector<int>(num_tasks, 1));
      }
    }
  }
}

// Whichever threads of the pool wake up first.
TEST(WorkerPool, GivesALoopNoMoreWorkersThanItRequests) {
  constexpr int32_t kWanted = 2;
  const Pool pool = make_started_pool(4, 4);
  for (int round = 0; round < 20; ++round) {
    // In every other round, threads of the previous round may still be awake.
    if (round % 2 == 0) expect_each_task_once(*pool, 100);
    std::vector<int> times(100, 0);
    std::atomic<bool> has_come[4] = {};
    std::atomic<int32_t> num_here = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    run_with(*pool, kWanted, 100, [&](int64_t task, int32_t worker) {
      ++times[static_cast<size_t>(task)];
      if (!has_come[worker].exchange(true)) ++num_here;
      while (num_here < kWanted && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    EXPECT_EQ(times, std::vector<int>(100, 1));
    EXPECT_EQ(num_here, kWanted);
  }
}

// Loops begin with their most expensive tasks, so the order matters.
TEST(WorkerPool, RunsEachShareInOrder) {
  for (const int32_t num_workers : {4, 40}) {
    const Pool pool = make_started_pool(num_workers);
    const auto num_shares = static_cast<size_t>(std::min(num_workers, kMaxShares));
    Failure failure;
    // For each worker and share, the tasks of that share that the worker ran, in the order in which they ran.
    std::vector<std::vector<int64_t>> tasks(static_cast<size_t>(num_workers) * num_shares);
    run_tasks(*pool, 1000, kMuch, &failure, [&](int64_t task, int32_t worker) {
      tasks[static_cast<size_t>(worker) * num_shares + static_cast<size_t>(task) % num_shares].push_back(task);
    });
    for (const auto& of_share : tasks) EXPECT_TRUE(std::is_sorted(of_share.begin(), of_share.end()));
  }
}

// So that a worker finds the data of its earlier loops in its caches.
TEST(WorkerPool, LeavesEachWorkerItsShareIfAllAreEquallyFast) {
  const Pool pool = make_started_pool(2);
  Failure failure;
  std::atomic<int64_t> num_begun[2] = {0, 0};
  std::atomic<int64_t> num_foreign = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  run_tasks(*pool, 100, kMuch, &failure, [&](int64_t task, int32_t worker) {
    if (task % 2 != worker) ++num_foreign;
    const int64_t mine = ++num_begun[worker];
    while (num_begun[1 - worker] < mine && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  EXPECT_EQ(num_foreign, 0);
}

TEST(WorkerPool, HasTheGivenNumberOfWorkers) {
  for (const int32_t num_workers : {2, 3, 8}) {
    const Pool pool = make_started_pool(num_workers);
    // Again after the threads have gone to sleep.
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(count_workers_that_take_part(*pool, num_workers), num_workers);
      EXPECT_TRUE(worker_threads_come_to(num_workers - 1, WorkerThreads::Asleep));
    }
  }
}

// Threads then sleep at once instead of spinning.
TEST(WorkerPool, MayHaveMoreThreadsThanProcessors) {
  const Pool pool = make_started_pool(3, 1);
  for (int round = 0; round < 100; ++round) expect_each_task_once(*pool, 50);
}

TEST(WorkerPool, LeavesSmallLoopsToTheCaller) {
  const Pool pool = make_started_pool(4);
  Failure failure;
  for (const double flops : {0.0, 1.0, 9.9e5}) {
    run_tasks(*pool, 100, flops, &failure, [caller = std::this_thread::get_id()](int64_t, int32_t worker) {
      EXPECT_EQ(worker, 0);
      EXPECT_EQ(std::this_thread::get_id(), caller);
    });
  }
}

TEST(WorkerPool, WakesNoThreadForAShortLoop) {
  const Pool pool = make_started_pool(4);
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(worker_threads_come_to(3, WorkerThreads::Asleep));
    // Longer than the pauses between the loops of one forward call.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Failure failure;
    run_tasks(*pool, 100, 2e6, &failure, [caller = std::this_thread::get_id()](int64_t, int32_t worker) {
      EXPECT_EQ(worker, 0);
      EXPECT_EQ(std::this_thread::get_id(), caller);
    });
    // Threads that are still awake may take part.
    if (round % 2 == 0) expect_each_task_once(*pool, 100);
    expect_each_task_once(*pool, 100, 2e6);
  }
}

TEST(WorkerPool, ComputesBeforeItIsStarted) {
  const Pool pool = make_pool(4);
  expect_each_task_once(*pool, 100);
  EXPECT_TRUE(worker_threads_come_to(0));
  pool->start();
  EXPECT_TRUE(worker_threads_come_to(3));
  pool->start();
  EXPECT_TRUE(worker_threads_come_to(3));
}

TEST(WorkerPool, EndsItsThreadsWhenDestroyed) {
  for (int round = 0; round < 50; ++round) {
    const Pool pool = make_started_pool(5);
    if (round % 2 == 0) expect_each_task_once(*pool, 10);
  }
  EXPECT_TRUE(worker_threads_come_to(0));
}

TEST(WorkerPool, RunsALoopWithinALoopAlone) {
  const Pool pool = make_started_pool(3);
  std::atomic<int> num_inner = 0;
  Failure failure;
  run_tasks(*pool, 10, kMuch, &failure, [&](int64_t, int32_t) {
    Failure inner;
    run_tasks(*pool, 10, kMuch, &inner, [&, caller = std::this_thread::get_id()](int64_t, int32_t worker) {
      EXPECT_EQ(worker, 0);
      EXPECT_EQ(std::this_thread::get_id(), caller);
      ++num_inner;
    });
  });
  EXPECT_EQ(num_inner, 100);
}

TEST(WorkerPool, ServesManyThreadsAtOnce) {
  const Pool pool = make_started_pool(3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) expect_each_task_once(*pool, 20);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(WorkerPool, IsStartedOnceByManyThreads) {
  const Pool pool = make_pool(3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      pool->start();
      expect_each_task_once(*pool, 20);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(worker_threads_come_to(2));
}

// The caller sees what the workers wrote, and the workers see what the caller wrote before, without further
// synchronization.
TEST(WorkerPool, OrdersMemory) {
  const Pool pool = make_started_pool(4);
  std::vector<int64_t> numbers(64, 0);
  Failure failure;
  const Workers workers(*pool, &failure);
  for (int64_t round = 1; round <= 500; ++round) {
    for (int64_t& number : numbers) ++number;
    workers.for_each(64, 4, kMuch, [&](int64_t task) { numbers[static_cast<size_t>(task)] += round; });
    for (const int64_t number : numbers) ASSERT_EQ(number, round + round * (round + 1) / 2);
  }
}

TEST(WorkerPool, BlocksTheHostsSignalsInItsThreads) {
  const Pool pool = make_started_pool(2);
  EXPECT_FALSE(blocked_signals().contains("SIGTERM")) << "the caller's signals are still blocked";
  std::atomic<int32_t> num_here = 0;
  std::atomic<int> num_looked = 0;
  Failure failure;
  run_tasks(*pool, 2, kMuch, &failure, [&](int64_t, int32_t worker) {
    ++num_here;
    while (num_here < 2) std::this_thread::yield();
    if (worker == 0) return;
    EXPECT_EQ(blocked_signals(),
              (std::set<std::string>{"SIGTERM", "SIGINT", "SIGPROF", "SIGCHLD", "SIGUSR1", "SIGXFSZ"}));
    ++num_looked;
  });
  EXPECT_EQ(num_looked, 1);
}

// The system may refuse threads, for example because of a container's limit.
TEST(WorkerPool, WorksWithoutThreadsIfTheSystemRefusesThem) {
  EXPECT_TRUE(succeeds_in_a_child([] {
    if (!forbid_threads()) return;
    const Pool pool = make_started_pool(4);
    EXPECT_EQ(count_worker_threads(), 0);
    EXPECT_EQ(pool->num_workers(), 4);
    expect_each_task_once(*pool, 100);
  }));
}

TEST(ForkedWorkerPool, StartsThreadsOfItsOwnAtItsNextLoop) {
  if (!kForkedChildMayHaveThreads) GTEST_SKIP();
  Pool pool = make_started_pool(3);
  ASSERT_EQ(count_workers_that_take_part(*pool, 3), 3);
  EXPECT_TRUE(succeeds_in_a_child([&] {
    EXPECT_EQ(count_worker_threads(), 0);
    EXPECT_EQ(count_workers_that_take_part(*pool, 3), 3);
    EXPECT_TRUE(succeeds_in_a_child([&] { EXPECT_EQ(count_workers_that_take_part(*pool, 3), 3); }));
    pool.reset();
  }));
  EXPECT_EQ(count_workers_that_take_part(*pool, 3), 3);
}

TEST(ForkedWorkerPool, MayBeDestroyedWithoutHavingWorked) {
  Pool pool = make_started_pool(3);
  expect_each_task_once(*pool, 10);
  EXPECT_TRUE(succeeds_in_a_child([&] { pool.reset(); }));
  Pool unused = make_pool(3);
  EXPECT_TRUE(succeeds_in_a_child([&] { unused.reset(); }));
}

// Whatever the other threads are doing at the time of the fork.
TEST(ForkedWorkerPool, WorksIfTheParentWasComputing) {
  if (!kForkedChildMayHaveThreads) GTEST_SKIP();
  Pool pool = make_started_pool(3);
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) expect_each_task_once(*pool, 20);
  });
  for (int round = 0; round < 50; ++round) {
    EXPECT_TRUE(succeeds_in_a_child([&] {
      EXPECT_EQ(count_workers_that_take_part(*pool, 3), 3);
      pool.reset();
    }));
  }
  is_over = true;
  other.join();
}

}  // namespace
}  // namespace heed::cpu
