// SPDX-License-Identifier: Apache-2.0
#include "backends/call_arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/error.h"

namespace heed {
namespace {

// Counts what a context allocates, and fails on request.
struct Allocator {
  int64_t num_allocations = 0;
  int64_t num_live = 0;
  bool is_empty = false;

  HostAllocator as_struct() {
    return {.allocate = [](void* user, size_t num_bytes, size_t alignment) -> void* {
              auto& self = *static_cast<Allocator*>(user);
              if (self.is_empty) return nullptr;
              ++self.num_allocations;
              ++self.num_live;
              return std::aligned_alloc(alignment, (num_bytes + alignment - 1) / alignment * alignment);
            },
            .release =
                [](void* user, void* memory, size_t) {
                  --static_cast<Allocator*>(user)->num_live;
                  std::free(memory);
                },
            .user = this};
  }
};

std::shared_ptr<Context> open(Allocator& allocator) {
  ContextOptions options;
  options.num_threads = 1;
  options.allocator = allocator.as_struct();
  return Context::open(options);
}

TEST(CallArena, GivesAlignedMemoryThatDoesNotOverlap) {
  Allocator allocator;
  const auto context = open(allocator);
  CallArena arena(*context);
  std::vector<std::pair<std::byte*, size_t>> blocks;
  for (size_t num_bytes = 0; num_bytes < 400; num_bytes += 7) {
    auto* memory = static_cast<std::byte*>(arena.allocate(num_bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % CallArena::kAlignment, 0u);
    std::memset(memory, static_cast<int>(blocks.size()), num_bytes);
    blocks.emplace_back(memory, num_bytes);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t byte = 0; byte < blocks[i].second; ++byte)
      ASSERT_EQ(blocks[i].first[byte], static_cast<std::byte>(i)) << "block " << i;
  }
}

TEST(CallArena, ASmallCallAllocatesNothing) {
  Allocator allocator;
  const auto context = open(allocator);
  const int64_t before = allocator.num_allocations;
  CallArena arena(*context);
  arena.allocate(CallArena::kInlineBytes);
  EXPECT_EQ(allocator.num_allocations, before);
}

TEST(CallArena, ALargeCallAllocatesOnlyTheFirstTime) {
  Allocator allocator;
  const auto context = open(allocator);
  const auto call = [&context](size_t num_bytes) {
    CallArena arena(*context);
    for (int i = 0; i < 10; ++i) std::memset(arena.allocate(num_bytes), 0, num_bytes);
  };
  call(100000);
  const int64_t after_first = allocator.num_allocations;
  call(100000);
  call(50000);
  EXPECT_EQ(allocator.num_allocations, after_first);
  // Its blocks are replaced by larger ones.
  const int64_t live = allocator.num_live;
  call(200000);
  EXPECT_EQ(allocator.num_live, live);
}

// A block that is too small for a request stays in the pool if another one is large enough.
TEST(CallArena, ACallWithALargeAndASmallBlockAllocatesOnlyTheFirstTime) {
  Allocator allocator;
  const auto context = open(allocator);
  const auto call = [&context](size_t first, size_t second) {
    CallArena arena(*context);
    arena.allocate(first);
    arena.allocate(second);
  };
  call(100000, 20000);
  const int64_t after_first = allocator.num_allocations;
  for (int i = 0; i < 3; ++i) call(100000, 20000);
  EXPECT_EQ(allocator.num_allocations, after_first);
}

TEST(CallArena, ACallWithTheRequestsOfTheOneBeforeAllocatesNothing) {
  Allocator allocator;
  const auto context = open(allocator);
  std::mt19937 random(9);
  for (int i = 0; i < 300; ++i) {
    std::vector<size_t> sizes(1 + random() % 40);
    for (size_t& size : sizes) size = random() % 8 == 0 ? random() % 300000 : random() % 5000;
    const auto call = [&] {
      CallArena arena(*context);
      for (const size_t size : sizes) arena.allocate(size);
    };
    call();
    const int64_t after_first = allocator.num_allocations;
    call();
    ASSERT_EQ(allocator.num_allocations, after_first) << "call " << i;
  }
}

// A block of a call is twice as large as the one before, so many small requests take few blocks of the pool.
TEST(CallArena, ManyRequestsTakeFewBlocks) {
  Allocator allocator;
  const auto context = open(allocator);
  const int64_t before = allocator.num_allocations;
  CallArena arena(*context);
  for (int i = 0; i < 10000; ++i) arena.allocate(1000);
  // 16 KiB * (2^10 - 1) is more than all of them.
  EXPECT_LE(allocator.num_allocations - before, 10);
}

TEST(CallArena, MoreCallsAtOnceThanThePoolHasRoomFor) {
  Allocator allocator;
  const auto context = open(allocator);
  const int64_t before = allocator.num_live;
  {
    std::vector<std::unique_ptr<CallArena>> arenas;
    for (int i = 0; i < 100; ++i) {
      arenas.push_back(std::make_unique<CallArena>(*context));
      arenas.back()->allocate(100000);
    }
    EXPECT_EQ(allocator.num_live, before + 100);
  }
  EXPECT_EQ(allocator.num_live, before + 64);
}

TEST(CallArena, ASizeThatOverflowsIsAnError) {
  Allocator allocator;
  const auto context = open(allocator);
  CallArena arena(*context);
  EXPECT_THROW(arena.allocate_for<int64_t>(SIZE_MAX / 8 + 2), Error);
}

TEST(CallArena, TrimGivesItsBlocksBack) {
  Allocator allocator;
  const auto context = open(allocator);
  const int64_t before = allocator.num_live;
  { CallArena(*context).allocate(100000); }
  EXPECT_GT(allocator.num_live, before);
  context->trim();
  EXPECT_EQ(allocator.num_live, before);
}

TEST(CallArena, MemoryThatIsNotThereIsAnError) {
  Allocator allocator;
  const auto context = open(allocator);
  CallArena arena(*context);
  allocator.is_empty = true;
  for (const size_t num_bytes : {size_t{100000}, SIZE_MAX}) {
    try {
      arena.allocate(num_bytes);
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.status, Status::OutOfMemory);
    }
  }
  allocator.is_empty = false;
  EXPECT_NE(arena.allocate(100000), nullptr);
}

}  // namespace
}  // namespace heed
