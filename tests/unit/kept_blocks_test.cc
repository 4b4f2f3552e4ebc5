// SPDX-License-Identifier: Apache-2.0
// Large blocks are mapped and unmapped individually, and a few freed blocks are kept for allocations of the same size.
#include "base/kept_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/host_allocator.h"
#include "support/platform/child_process.h"
#include "support/platform/memory.h"

namespace heed {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// With AddressSanitizer no size is mapped, since it must see every block.
class MappedMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_mapped(kMiB)) GTEST_SKIP() << "AddressSanitizer allocates all blocks";
  }
};
using KeptBlocksTest = MappedMemory;

TEST_F(MappedMemory, TakesAnEighthMoreAtMost) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const size_t num_bytes = kMappedFrom + (random() >> (20 + i % 24));
    const size_t bytes = mapped_bytes(num_bytes);
    ASSERT_GE(bytes, num_bytes);
    ASSERT_LE(bytes, num_bytes + num_bytes / 8);
    ASSERT_EQ(bytes % (kMappedFrom / 8), 0U);
    ASSERT_EQ(mapped_bytes(bytes), bytes);
  }
  EXPECT_EQ(mapped_bytes(kMiB), kMiB);
  EXPECT_EQ(mapped_bytes(kMiB + 1), kMiB + kMiB / 8);
}

TEST_F(MappedMemory, IsZerosOnAPageAndGoesBack) {
  const size_t num_bytes = 3 * kMiB + 5;
  auto* block = static_cast<unsigned char*>(map_block(num_bytes));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 4096, 0U);
  for (size_t i = 0; i < num_bytes; i += 1000) ASSERT_EQ(block[i], 0);
  block[num_bytes - 1] = 1;
  unmap_block(block, num_bytes);
  EXPECT_FALSE(is_page_mapped(block));
  EXPECT_FALSE(is_page_mapped(block + num_bytes - 1));
}

TEST_F(MappedMemory, OfImpossibleSizesIsRefused) {
  for (const size_t num_bytes :
       {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 4096, SIZE_MAX / 2 + 1, SIZE_MAX / 2, SIZE_MAX / 4}) {
    EXPECT_EQ(map_block(num_bytes), nullptr);
    EXPECT_EQ(allocate_from_c_library(nullptr, num_bytes, 64), nullptr);
  }
}

TEST_F(MappedMemory, BeginsAtTheGivenSize) {
  for (const size_t num_bytes : {kMappedFrom - 1, kMappedFrom}) {
    auto* memory = static_cast<unsigned char*>(allocate_from_c_library(nullptr, num_bytes, 64));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0U);
    std::memset(memory, 1, num_bytes);
    release_to_c_library(nullptr, memory, num_bytes);
    kept_blocks().give_back();
    EXPECT_TRUE(num_bytes < kMappedFrom || !is_page_mapped(memory));
  }
}

// Blocks begin at different cache lines of a page: at least half as many lines as blocks.
TEST_F(MappedMemory, BeginsAtDifferentCacheLines) {
  std::set<uintptr_t> beginnings;
  std::vector<void*> blocks;
  constexpr size_t kBlocks = 20;
  for (size_t i = 0; i < kBlocks; ++i) {
    auto* memory = static_cast<unsigned char*>(allocate_from_c_library(nullptr, kMiB, 64));
    ASSERT_NE(memory, nullptr);
    memory[0] = memory[kMiB - 1] = 1;
    beginnings.insert(reinterpret_cast<uintptr_t>(memory) % 4096);
    blocks.push_back(memory);
  }
  for (void* memory : blocks) release_to_c_library(nullptr, memory, kMiB);
  kept_blocks().give_back();
  for (void* memory : blocks) EXPECT_FALSE(is_page_mapped(memory));
  EXPECT_GE(beginnings.size(), kBlocks / 2);
}

TEST_F(KeptBlocksTest, AreTakenForTheSameSize) {
  KeptBlocks kept;
  EXPECT_EQ(kept.take(kMiB), nullptr);
  void* block = map_block(kMiB - 5);
  kept.keep(block, kMiB - 5);
  EXPECT_EQ(kept.take(kMiB / 2), nullptr);
  EXPECT_EQ(kept.take(kMiB + 1), nullptr);
  EXPECT_EQ(kept.take(kMiB), block);
  EXPECT_EQ(kept.take(kMiB), nullptr);
  unmap_block(block, kMiB);
}

TEST_F(KeptBlocksTest, AreUnmappedWhenTheyAreGivenBack) {
  std::vector<void*> blocks;
  KeptBlocks kept;
  for (size_t i = 0; i < 3; ++i) blocks.push_back(map_block((i + 1) * kMiB));
  for (size_t i = 0; i < 3; ++i) kept.keep(blocks[i], (i + 1) * kMiB);
  for (void* block : blocks) EXPECT_TRUE(is_page_mapped(block));
  kept.give_back();
  for (void* block : blocks) EXPECT_FALSE(is_page_mapped(block));
  EXPECT_EQ(kept.take(kMiB), nullptr);
}

// First more blocks than the limit allows, then more bytes.
TEST_F(KeptBlocksTest, AreNotMoreThanTheLimits) {
  for (const size_t size : {kMappedFrom, kMiB, 3 * kMiB, KeptBlocks::kMaxBytes}) {
    KeptBlocks kept;
    std::vector<void*> blocks;
    for (size_t i = 0; i < 3 * KeptBlocks::kMaxBlocks; ++i) blocks.push_back(map_block(size));
    for (void* block : blocks) kept.keep(block, size);
    size_t num_kept = 0;
    for (void* block : blocks) num_kept += is_page_mapped(block) ? 1 : 0;
    EXPECT_LE(num_kept, KeptBlocks::kMaxBlocks);
    EXPECT_LE(num_kept * size, KeptBlocks::kMaxBytes);
    EXPECT_GE(num_kept, std::min(KeptBlocks::kMaxBlocks, KeptBlocks::kMaxBytes / size));
    EXPECT_TRUE(is_page_mapped(blocks.back())) << "the block that was kept last was unmapped";
  }
}

TEST_F(KeptBlocksTest, AreNotTooLarge) {
  KeptBlocks kept;
  const size_t num_bytes = KeptBlocks::kMaxBytes + 1;
  void* block = map_block(num_bytes);
  kept.keep(block, num_bytes);
  EXPECT_FALSE(is_page_mapped(block));
}

// Kept blocks that nobody takes do not keep new ones out.
TEST_F(KeptBlocksTest, OfOldSizesGiveWayToNewOnes) {
  KeptBlocks kept;
  for (size_t i = 0; i < KeptBlocks::kMaxBlocks; ++i) kept.keep(map_block(kMappedFrom), kMappedFrom);
  void* block = map_block(kMiB);
  kept.keep(block, kMiB);
  EXPECT_EQ(kept.take(kMiB), block);
  unmap_block(block, kMiB);
}

// A block belongs to the thread that takes it, until that thread gives it back.
TEST_F(KeptBlocksTest, BelongToOneThreadAtATime) {
  KeptBlocks kept;
  std::vector<std::thread> threads;
  for (uint32_t thread = 1; thread <= 4; ++thread) {
    threads.emplace_back([&kept, thread] {
      std::mt19937 random(thread);
      for (int i = 0; i < 20'000; ++i) {
        const size_t num_bytes = kMappedFrom * (1 + random() % 5);
        auto* block = static_cast<uint32_t*>(kept.take(num_bytes));
        if (block == nullptr) block = static_cast<uint32_t*>(map_block(num_bytes));
        ASSERT_NE(block, nullptr);
        const size_t last = num_bytes / sizeof(uint32_t) - 1;
        block[0] = thread;
        block[last] = thread;
        if (i % 16 == 0) std::this_thread::yield();
        ASSERT_EQ(block[0], thread);
        ASSERT_EQ(block[last], thread);
        kept.keep(block, num_bytes);
        if (i % 1000 == 0) kept.give_back();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(KeptBlocksTest, AreAvailableInAForkedChild) {
  KeptBlocks kept;
  auto* block = static_cast<unsigned char*>(map_block(kMiB));
  kept.keep(block, kMiB);
  EXPECT_TRUE(succeeds_in_a_child([&] {
    auto* taken = static_cast<unsigned char*>(kept.take(kMiB));
    ASSERT_EQ(taken, block);
    taken[0] = 1;
  }));
  EXPECT_EQ(block[0], 0);
  EXPECT_EQ(kept.take(kMiB), block);
  unmap_block(block, kMiB);
}

}  // namespace
}  // namespace heed
