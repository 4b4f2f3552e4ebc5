// SPDX-License-Identifier: Apache-2.0
// Threads, and waiting until a number changes.
#include "platform/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "platform/wait.h"
#include "support/platform/child_process.h"
#include "support/platform/limits.h"
#include "support/platform/threads.h"

namespace heed::platform {
namespace {

constexpr size_t kStackBytes = size_t{1} << 20;

struct Seen {
  std::set<std::string> blocked;
  int num_named = 0;
  std::thread::id id;
};

TEST(Threads, RunWithTheirNameAndWithoutTheProcesssSignals) {
  Seen seen;
  Thread thread;
  thread.name = "heed-worker";
  thread.argument = &seen;
  thread.run = [](void* argument) {
    auto& result = *static_cast<Seen*>(argument);
    result.blocked = blocked_signals();
    result.num_named = count_worker_threads();
    result.id = std::this_thread::get_id();
  };
  const std::set<std::string> before = blocked_signals();
  ASSERT_TRUE(start_thread(thread, kStackBytes));
  join_thread(thread);
  EXPECT_EQ(blocked_signals(), before);
  EXPECT_NE(seen.id, std::this_thread::get_id());
  EXPECT_EQ(seen.num_named, 1);
  EXPECT_EQ(seen.blocked, (std::set<std::string>{"SIGTERM", "SIGINT", "SIGPROF", "SIGCHLD", "SIGUSR1", "SIGXFSZ"}));
}

TEST(Threads, ThatTheSystemRefusesAreNone) {
  EXPECT_TRUE(succeeds_in_a_child([] {
    if (!forbid_threads()) return;
    Thread thread{"refused", [](void*) {}, nullptr, 0};
    EXPECT_FALSE(start_thread(thread, kStackBytes));
    EXPECT_FALSE(blocked_signals().contains("SIGTERM"));
  }));
}

TEST(Threads, CountOnlyTheirOwnTime) {
  const int64_t before = nanoseconds_of_thread();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(nanoseconds_of_thread() - before, 40'000'000);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (std::chrono::steady_clock::now() < end) {
  }
  EXPECT_GT(nanoseconds_of_thread(), before);
}

TEST(NoCancellation, LastsForItsScope) {
  bool came_back = false;
  EXPECT_TRUE(is_cancelled_in([&] {
    {
      const NoCancellation outer;
      {
        const NoCancellation inner;
        cancellation_point();
      }
      cancellation_point();
    }
    came_back = true;
  }));
  EXPECT_TRUE(came_back);
}

TEST(Wait, ReturnsAtOnceWhereTheNumberIsAnother) {
  std::atomic<uint32_t> word = 1;
  wait_while_equal(word, 2);
  wake(word, INT_MAX);
}

TEST(Wait, EndsWhenTheNumberHasChanged) {
  constexpr int kNumThreads = 4;
  std::atomic<uint32_t> word = 0;
  std::atomic<int> num_awake = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kNumThreads; ++i) {
    threads.emplace_back([&] {
      while (word.load() == 0) wait_while_equal(word, 0);
      ++num_awake;
    });
  }
  // Threads that are woken although the number has not changed go back to sleep.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  wake(word, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(num_awake, 0);
  word = 1;
  wake(word, INT_MAX);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_awake, kNumThreads);
}

}  // namespace
}  // namespace heed::platform
