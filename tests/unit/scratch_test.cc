// SPDX-License-Identifier: Apache-2.0
// How scratch memory is divided among workers.
#include "backends/cpu/engine/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "backends/cpu/engine/parallel.h"
#include "support/guarded_memory.h"
#include "turns.h"

namespace heed::cpu {
namespace {

constexpr double kMuch = 1e12;

TEST(Scratch, HasAnAlignedPartForEachWorkerAndASharedOne) {
  for (const size_t worker_bytes : {0U, 1U, 64U, 1000U}) {
    for (const int32_t num_workers : {1, 2, 16}) {
      const ScratchLayout layout = {.worker_bytes = worker_bytes, .shared_bytes = 100, .num_workers = num_workers};
      GuardedMemory memory(layout.num_bytes());
      const Scratch scratch(layout, memory.data());
      Turns turns(num_workers);
      Failure failure;
      std::set<std::byte*> parts;
      Workers(turns, &failure).for_each(scratch, 100, num_workers, kMuch, [&](int64_t, std::byte* own) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(own) % kMemoryAlignment, 0U);
        std::fill_n(own, worker_bytes, std::byte{1});
        parts.insert(own);
      });
      EXPECT_TRUE(worker_bytes == 0 || parts.size() == static_cast<size_t>(num_workers));
      std::fill_n(scratch.shared(), layout.shared_bytes, std::byte{2});
      for (std::byte* part : parts) {
        for (size_t i = 0; i < worker_bytes; ++i) ASSERT_EQ(part[i], std::byte{1});
      }
      EXPECT_TRUE(memory.is_intact());
    }
  }
}

// Whatever the loop asks for: a run has no more workers than its plan has parts for.
TEST(Scratch, KeepsALoopOnItsCallerWhereOnlyTheCallerHasAPart) {
  for (const int32_t num_parts : {1, 2, 3}) {
    const ScratchLayout layout = {.worker_bytes = 64, .num_workers = num_parts};
    GuardedMemory memory(layout.num_bytes());
    const Scratch scratch(layout, memory.data());
    Turns turns(4);
    Failure failure;
    std::vector<int64_t> tasks;
    Workers(turns, &failure).for_each(scratch, 8, 4, kMuch, [&](int64_t task, std::byte* own) {
      EXPECT_EQ(own, memory.data());
      tasks.push_back(task);
    });
    EXPECT_EQ(tasks, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
}

TEST(Scratch, LimitsTheThreadsOfAPlan) {
  EXPECT_EQ((ScratchLayout{.num_workers = 1}.limit(7)), 1);
  EXPECT_EQ((ScratchLayout{.num_workers = 8}.limit(7)), 7);
  EXPECT_EQ((ScratchLayout{.num_workers = 8}.limit(1)), 1);
}

}  // namespace
}  // namespace heed::cpu
