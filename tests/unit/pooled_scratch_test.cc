// SPDX-License-Identifier: Apache-2.0
// Scratch memory for calls without a workspace: concurrent calls have separate blocks, later calls reuse them, and all
// blocks go back to their allocator.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>

#include "backends/context.h"

namespace heed {
namespace {

constexpr size_t kBytes = 1000;

// The C library's allocator with a count of the allocated bytes.
class CountingAllocator {
 public:
  HostAllocator allocator() {
    HostAllocator result;
    result.allocate = [](void* user, size_t num_bytes, size_t alignment) {
      static_cast<CountingAllocator*>(user)->bytes_ += num_bytes;
      return HostAllocator().allocate(nullptr, num_bytes, alignment);
    };
    result.release = [](void* user, void* memory, size_t num_bytes) {
      static_cast<CountingAllocator*>(user)->bytes_ -= num_bytes;
      HostAllocator().release(nullptr, memory, num_bytes);
    };
    result.user = this;
    return result;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

class PooledScratch : public testing::Test {
 protected:
  std::shared_ptr<Context> open() {
    ContextOptions options;
    options.allocator = counter_.allocator();
    options.num_threads = 1;
    return Context::open(options);
  }

  CountingAllocator counter_;
};

TEST_F(PooledScratch, IsTheSameForCallsOneAfterTheOther) {
  const std::shared_ptr<Context> context = open();
  void* first = nullptr;
  {
    const Context::PooledScratch scratch(*context, kBytes);
    first = scratch.data();
  }
  const size_t before = counter_.bytes();
  const Context::PooledScratch scratch(*context, kBytes / 2);
  EXPECT_EQ(scratch.data(), first);
  EXPECT_EQ(counter_.bytes(), before);
}

TEST_F(PooledScratch, GrowsWhereACallNeedsMore) {
  const std::shared_ptr<Context> context = open();
  { const Context::PooledScratch scratch(*context, kBytes); }
  const size_t before = counter_.bytes();
  const Context::PooledScratch scratch(*context, 3 * kBytes);
  EXPECT_EQ(counter_.bytes() - before, 2 * kBytes);
}

// More concurrent calls than the pool keeps blocks for.
TEST_F(PooledScratch, IsSeparateForAnyNumberOfConcurrentCalls) {
  constexpr int kCalls = 100;
  {
    const std::shared_ptr<Context> context = open();
    for (int round = 0; round < 2; ++round) {
      std::deque<std::optional<Context::PooledScratch>> calls;
      std::set<uintptr_t> addresses;
      for (int i = 0; i < kCalls; ++i)
        addresses.insert(reinterpret_cast<uintptr_t>(calls.emplace_back(std::in_place, *context, kBytes)->data()));
      ASSERT_EQ(addresses.size(), size_t{kCalls});
      uintptr_t end = 0;
      for (const uintptr_t address : addresses) {
        EXPECT_LE(end, address);
        end = address + kBytes;
      }
    }
    EXPECT_GT(counter_.bytes(), 0u);
    EXPECT_LT(counter_.bytes(), kCalls * kBytes);
  }
  EXPECT_EQ(counter_.bytes(), 0u);
}

}  // namespace
}  // namespace heed
