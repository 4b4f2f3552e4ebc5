// SPDX-License-Identifier: Apache-2.0
// A host's allocator that checks everything: it records each block, aligns no more than requested, fills memory with
// patterns, and fails when a test wants it to.
#pragma once

#include <heed/heed.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include "capi/support/objects.h"

namespace heed::capi_test {

class CountingAllocator {
 public:
  enum class Trouble { None, Null, Misaligned, ThrowsBadAlloc, ThrowsAnInteger };

  CountingAllocator() = default;
  CountingAllocator(const CountingAllocator&) = delete;
  CountingAllocator& operator=(const CountingAllocator&) = delete;
  // Checks that all memory has been released.
  ~CountingAllocator();

  heed_allocator as_struct();
  Context make_context();

  // The `first`th allocation from now on, counted from 1, fails in this way, and with later_too all after it.
  void make_trouble(Trouble trouble, int64_t first, bool later_too = false);
  void end_trouble() { make_trouble(Trouble::None, 0); }
  bool trouble_happened() const;
  // From now on allocations of more bytes fail.
  void limit_allocations(size_t num_bytes);

  // Called before each allocation and release, without the allocator's own lock.
  std::function<void()> before_each;

  int64_t num_allocations() const;
  int64_t num_live_blocks() const;
  size_t num_live_bytes() const;

 private:
  struct Block;

  static void* allocate(void* user, size_t num_bytes, size_t alignment);
  static void release(void* user, void* memory, size_t num_bytes);
  Trouble next_trouble();

  mutable std::mutex mutex_;
  Block* live_ = nullptr;
  int64_t num_allocations_ = 0;
  int64_t num_live_blocks_ = 0;
  size_t num_live_bytes_ = 0;
  size_t most_bytes_ = SIZE_MAX;
  Trouble trouble_ = Trouble::None;
  int64_t until_trouble_ = 0;
  bool later_too_ = false;
  bool happened_ = false;
};

}  // namespace heed::capi_test
