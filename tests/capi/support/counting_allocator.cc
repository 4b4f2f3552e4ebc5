// SPDX-License-Identifier: Apache-2.0
#include "capi/support/counting_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace heed::capi_test {
namespace {

constexpr int kFresh = 0xA5;
constexpr int kReleased = 0xDD;
constexpr unsigned char kGuard = 0x5A;
constexpr size_t kGuardBytes = 16;

}  // namespace

// Stored directly before the memory that is given out. The live blocks form a list, since a set would call malloc
// itself.
struct CountingAllocator::Block {
  Block* next;
  void* base;
  size_t num_bytes;
  size_t alignment;
  bool misaligned;

  // The address that heed gets, misaligned by one if the test wants that.
  unsigned char* memory() { return reinterpret_cast<unsigned char*>(this + 1) + (misaligned ? 1 : 0); }
};

CountingAllocator::~CountingAllocator() {
  EXPECT_EQ(num_live_blocks_, 0) << "not released";
  EXPECT_EQ(num_live_bytes_, 0u);
}

heed_allocator CountingAllocator::as_struct() { return {sizeof(heed_allocator), allocate, release, this}; }

Context CountingAllocator::make_context() {
  // A local variable, since heed copies the struct.
  const heed_allocator allocator = as_struct();
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.allocator = &allocator;
  return capi_test::make_context(&options);
}

void CountingAllocator::make_trouble(Trouble trouble, int64_t first, bool later_too) {
  const std::lock_guard lock(mutex_);
  trouble_ = trouble;
  until_trouble_ = first;
  later_too_ = later_too;
  happened_ = false;
}

bool CountingAllocator::trouble_happened() const {
  const std::lock_guard lock(mutex_);
  return happened_;
}

void CountingAllocator::limit_allocations(size_t num_bytes) {
  const std::lock_guard lock(mutex_);
  most_bytes_ = num_bytes;
}

int64_t CountingAllocator::num_allocations() const {
  const std::lock_guard lock(mutex_);
  return num_allocations_;
}

int64_t CountingAllocator::num_live_blocks() const {
  const std::lock_guard lock(mutex_);
  return num_live_blocks_;
}

size_t CountingAllocator::num_live_bytes() const {
  const std::lock_guard lock(mutex_);
  return num_live_bytes_;
}

CountingAllocator::Trouble CountingAllocator::next_trouble() {
  if (trouble_ == Trouble::None || until_trouble_ == 0) return Trouble::None;
  if (until_trouble_ > 1) {
    --until_trouble_;
    return Trouble::None;
  }
  if (!later_too_) until_trouble_ = 0;
  happened_ = true;
  return trouble_;
}

void* CountingAllocator::allocate(void* user, size_t num_bytes, size_t alignment) {
  auto& self = *static_cast<CountingAllocator*>(user);
  if (self.before_each) self.before_each();
  EXPECT_GE(num_bytes, 1u);
  EXPECT_EQ(alignment & (alignment - 1), 0u) << alignment << " is no power of two";
  EXPECT_GE(alignment, alignof(max_align_t));
  const std::lock_guard lock(self.mutex_);
  ++self.num_allocations_;
  const Trouble trouble = self.next_trouble();
  if (trouble == Trouble::Null || num_bytes > self.most_bytes_) return nullptr;
  if (trouble == Trouble::ThrowsBadAlloc) throw std::bad_alloc();
  if (trouble == Trouble::ThrowsAnInteger) throw 42;

  // An odd multiple of the alignment, after an address that is aligned to twice as much.
  static_assert(alignof(Block) <= alignof(max_align_t));
  const size_t before = ((sizeof(Block) + alignment - 1) / alignment | 1) * alignment;
  const size_t whole = before + num_bytes + 1 + kGuardBytes;
  if (whole < num_bytes || whole > PTRDIFF_MAX - 4 * alignment) return nullptr;
  auto* base = static_cast<unsigned char*>(
      std::aligned_alloc(2 * alignment, (whole + 2 * alignment - 1) / (2 * alignment) * (2 * alignment)));
  if (base == nullptr) return nullptr;
  auto* block = new (base + before - sizeof(Block)) Block{self.live_, base, num_bytes, alignment, false};
  block->misaligned = trouble == Trouble::Misaligned;
  std::memset(block->memory(), kFresh, num_bytes);
  std::memset(block->memory() + num_bytes, kGuard, kGuardBytes);
  self.live_ = block;
  ++self.num_live_blocks_;
  self.num_live_bytes_ += num_bytes;
  return block->memory();
}

void CountingAllocator::release(void* user, void* memory, size_t num_bytes) {
  auto& self = *static_cast<CountingAllocator*>(user);
  if (self.before_each) self.before_each();
  const std::lock_guard lock(self.mutex_);
  Block** link = &self.live_;
  while (*link != nullptr && (*link)->memory() != memory) link = &(*link)->next;
  Block* block = *link;
  if (block == nullptr) {
    ADD_FAILURE() << "released what was not allocated, or twice: " << memory << ", " << num_bytes << " bytes";
    return;
  }
  EXPECT_EQ(num_bytes, block->num_bytes) << "released with another size";
  const unsigned char* guard = block->memory() + block->num_bytes;
  EXPECT_TRUE(std::all_of(guard, guard + kGuardBytes, [](unsigned char byte) { return byte == kGuard; }))
      << "written past the end of " << block->num_bytes << " bytes";
  *link = block->next;
  --self.num_live_blocks_;
  self.num_live_bytes_ -= block->num_bytes;
  void* base = block->base;
  std::memset(block->memory(), kReleased, block->num_bytes);
  std::free(base);
}

}  // namespace heed::capi_test
