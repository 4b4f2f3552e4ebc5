// SPDX-License-Identifier: Apache-2.0
// A lock that is free in a forked child, even if another thread held it during the fork.
#include "base/process_lock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/platform/child_process.h"

namespace heed {
namespace {

TEST(ProcessNumber, IsNewInEachForkedChild) {
  const uint32_t own = platform::process_number();
  EXPECT_NE(own, 0u);
  EXPECT_EQ(platform::process_number(), own);
  EXPECT_EQ(exit_code_in_a_child([own] {
              const uint32_t child = platform::process_number();
              if (child == own || child == 0) return 1;
              return exit_code_in_a_child([own, child] {
                const uint32_t grandchild = platform::process_number();
                return grandchild == own || grandchild == child || grandchild == 0 ? 1 : 0;
              });
            }),
            0);
  EXPECT_EQ(platform::process_number(), own);
}

TEST(ProcessLock, HasOneHolder) {
  ProcessLock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
}

TEST(ProcessLock, KeepsThreadsApart) {
  ProcessLock lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int done = 0; done < 1000;) {
        if (!lock.try_lock()) {
          std::this_thread::yield();
          continue;
        }
        ++count;
        ++done;
        lock.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

TEST(ProcessLock, IsFreeInAChildWhoeverHeldItInTheParent) {
  ProcessLock lock;
  ASSERT_TRUE(lock.try_lock());
  EXPECT_EQ(exit_code_in_a_child([&] {
              if (!lock.try_lock() || lock.try_lock()) return 1;
              lock.unlock();
              return lock.try_lock() ? 0 : 1;
            }),
            0);
  EXPECT_FALSE(lock.try_lock()) << "the child changed the parent's lock";
}

}  // namespace
}  // namespace heed
