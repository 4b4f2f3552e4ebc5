// SPDX-License-Identifier: Apache-2.0
// Loops on the host's threads, and executors that violate their contract: even then each item runs once.
#include "backends/cpu/engine/host_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "each_task_once.h"

namespace heed::cpu {
namespace {

// The arguments of one call of parallel_for.
struct Order {
  int64_t num_items;
  void (*run_item)(void* task, int64_t item);
  void* task;
  void run(int64_t item) const { run_item(task, item); }
};
using ParallelFor = std::function<void(const Order&)>;

// An executor whose parallel_for is a function of the test.
struct Host {
  explicit Host(ParallelFor function, int32_t num_threads = 4)
      : parallel_for(std::move(function)),
        executor({.parallel_for =
                      [](void* user, int64_t num_items, void (*run)(void*, int64_t), void* task) {
                        auto* self = static_cast<Host*>(user);
                        ++self->num_calls;
                        self->parallel_for({num_items, run, task});
                      },
                  .num_threads = num_threads,
                  .user = this},
                 num_threads) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  ParallelFor parallel_for;
  std::atomic<int> num_calls = 0;
  HostExecutor executor;
};

void run_in_order(const Order& order) {
  for (int64_t item = 0; item < order.num_items; ++item) order.run(item);
}

void run_backwards(const Order& order) {
  for (int64_t item = order.num_items - 1; item >= 0; --item) order.run(item);
}

void run_on_threads(const Order& order) {
  std::vector<std::thread> threads;
  for (int64_t item = 0; item < order.num_items; ++item) threads.emplace_back([&order, item] { order.run(item); });
  for (std::thread& thread : threads) thread.join();
}

TEST(HostExecutor, DoesEachItemOnce) {
  for (auto* const parallel_for : {run_in_order, run_backwards, run_on_threads}) {
    for (const int32_t num_threads : {2, 3, 8}) {
      Host host(parallel_for, num_threads);
      EXPECT_EQ(host.executor.num_workers(), num_threads);
      for (const int64_t num_tasks : {0, 1, 2, 3, 7, 8, 9, 1000}) expect_each_task_once(host.executor, num_tasks);
      EXPECT_EQ(host.num_calls, 6) << "a loop of one item does not call the executor";
    }
  }
}

TEST(HostExecutor, RequestsNoMoreItemsThanTheLoopHas) {
  int64_t num_asked = 0;
  Host host([&](const Order& order) {
    num_asked = order.num_items;
    run_in_order(order);
  });
  for (const auto& [num_tasks, expected] : {std::pair{2, 2}, {3, 3}, {4, 4}, {5, 4}, {100, 4}}) {
    expect_each_task_once(host.executor, num_tasks);
    EXPECT_EQ(num_asked, expected);
  }
}

TEST(HostExecutor, RunsASecondLoopOnItsCallerWhileTheFirstRuns) {
  Host host([&](const Order& order) {
    const int calls = host.num_calls;
    expect_each_task_once(host.executor, 10);
    EXPECT_EQ(host.num_calls, calls);
    run_on_threads(order);
    std::thread([&] { expect_each_task_once(host.executor, 10); }).join();
    EXPECT_EQ(host.num_calls, calls);
  });
  for (int round = 0; round < 10; ++round) expect_each_task_once(host.executor, 10);
}

TEST(HostExecutor, ServesManyThreadsAtOnce) {
  Host host(run_on_threads, 2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) expect_each_task_once(host.executor, 20);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The call fails with this text, but each item has run once, and the next call works.
void expect_fault(const ParallelFor& parallel_for, const std::string& text) {
  SCOPED_TRACE(text);
  Host host(parallel_for);
  for (int round = 0; round < 3; ++round) {
    Failure failure;
    EXPECT_EQ(expect_each_task_once(host.executor, 20, &failure), Status::InvalidArgument);
    EXPECT_EQ(failure.status, Status::InvalidArgument);
    EXPECT_NE(std::string(failure.text).find(text), std::string::npos) << failure.text;
    host.parallel_for = run_on_threads;
    expect_each_task_once(host.executor, 20);
    host.parallel_for = parallel_for;
  }
}

TEST(BrokenExecutor, ThatRunsNothing) {
  expect_fault([](const Order&) {}, "returned before its 4 items were done");
}

TEST(BrokenExecutor, ThatLeavesOneOut) {
  for (const int64_t left_out : {0, 1, 3}) {
    expect_fault(
        [left_out](const Order& order) {
          for (int64_t item = 0; item < order.num_items; ++item) {
            if (item != left_out) order.run(item);
          }
        },
        "returned before its 4 items were done");
  }
}

TEST(BrokenExecutor, ThatRunsOneTwice) {
  for (const int64_t again : {0, 1, 3}) {
    expect_fault(
        [again](const Order& order) {
          run_in_order(order);
          order.run(again);
        },
        "ran item " + std::to_string(again) + " twice, expected each of its 4 items once");
  }
}

TEST(BrokenExecutor, ThatRunsOneTwiceInsteadOfAnother) {
  expect_fault(
      [](const Order& order) {
        for (int64_t item = 0; item < order.num_items; ++item) order.run(0);
      },
      "ran item 0 twice");
}

TEST(BrokenExecutor, ThatRunsOneOnTwoThreadsAtOnce) {
  expect_fault(
      [](const Order& order) {
        std::thread other([&] { run_in_order(order); });
        run_in_order(order);
        other.join();
      },
      "twice");
}

TEST(BrokenExecutor, ThatRunsItemsThatDoNotExist) {
  for (const int64_t wrong : {int64_t{-1}, int64_t{4}, int64_t{1} << 40, INT64_MIN, INT64_MAX}) {
    expect_fault(
        [wrong](const Order& order) {
          order.run(wrong);
          run_in_order(order);
        },
        "ran item " + std::to_string(wrong) + ", expected items 0 to 3");
  }
}

TEST(BrokenExecutor, ThatCountsFromOne) {
  expect_fault(
      [](const Order& order) {
        for (int64_t item = 1; item <= order.num_items; ++item) order.run(item);
      },
      "ran item 4, expected items 0 to 3");
}

TEST(BrokenExecutor, ThatRunsItemsThousandsOfTimes) {
  expect_fault(
      [](const Order& order) {
        for (int i = 0; i < 10000; ++i) order.run(0);
      },
      "ran item 0 twice");
}

TEST(BrokenExecutor, ThatThrows) {
  expect_fault([](const Order&) { throw std::runtime_error("a test's exception"); }, "threw a C++ exception");
  expect_fault(
      [](const Order& order) {
        run_on_threads(order);
        throw 42;
      },
      "threw a C++ exception");
}

TEST(BrokenExecutor, ThatDoesNotWait) {
  std::thread late;
  std::atomic<bool> is_inside = false;
  std::atomic<bool> may_go_on = false;
  Host host([&](const Order& order) {
    late = std::thread([order] { order.run(1); });
    while (!is_inside) std::this_thread::yield();
    for (const int64_t item : {0, 2, 3}) order.run(item);
  });
  Failure failure;
  std::atomic<int> num_done = 0;
  std::thread releaser;
  const Status status = run_tasks(host.executor, 8, kMuch, &failure, [&](int64_t, int32_t worker) {
    if (worker == 1) {
      is_inside = true;
      while (!may_go_on) std::this_thread::yield();
    } else if (num_done == 6) {
      // Lets the late item end soon after parallel_for has returned.
      releaser = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        may_go_on = true;
      });
    }
    ++num_done;
  });
  EXPECT_EQ(num_done, 8) << "the caller did not wait for the running item";
  EXPECT_EQ(status, Status::InvalidArgument);
  EXPECT_NE(std::string(failure.text).find("returned before its 4 items were done"), std::string::npos) << failure.text;
  late.join();
  releaser.join();
}

// The executor runs items of loops that are over, directly after their end and many loops later.
TEST(BrokenExecutor, ThatRunsItemsTooLate) {
  std::vector<Order> orders;
  Host host([&](const Order& order) {
    run_in_order(order);
    // Items of earlier loops.
    for (size_t i = 0; i < orders.size() && i + 1 < orders.size(); ++i) orders[i].run(0);
    orders.push_back(order);
  });
  // Heed distinguishes more loops than this.
  for (int round = 0; round < 60; ++round) {
    expect_each_task_once(host.executor, 20);
    for (const Order& order : orders) order.run(round % 4);
  }
}

TEST(BrokenExecutor, IsReportedByItsFirstFaultInACall) {
  Host host([](const Order& order) { run_in_order(order); });
  Failure failure;
  const Workers workers(host.executor, &failure);
  const auto run = [&] { workers.for_each(10, workers.num_workers(), kMuch, [](int64_t) {}); };
  run();
  EXPECT_EQ(workers.status(), Status::Ok);
  host.parallel_for = [](const Order&) {};
  run();
  host.parallel_for = [](const Order&) { throw 42; };
  run();
  host.parallel_for = run_in_order;
  run();
  EXPECT_EQ(workers.status(), Status::InvalidArgument);
  EXPECT_NE(std::string(failure.text).find("returned before"), std::string::npos) << failure.text;
}

}  // namespace
}  // namespace heed::cpu
