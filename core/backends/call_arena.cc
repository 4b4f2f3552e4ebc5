// SPDX-License-Identifier: Apache-2.0
#include "backends/call_arena.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

#include "base/error.h"

namespace heed {
namespace {

// The minimum size of a new block: large enough that most calls of one layer need only one. A new block of a call that has
// one is twice as large as that, so that also a stack of many layers takes few of the pool's blocks.
constexpr size_t kMinBlockBytes = 16 << 10;

}  // namespace

void destroy_arena_block(const HostAllocator& allocator, ArenaBlock* block) noexcept {
  host_release(allocator, block, block->num_bytes);
}

void* CallArena::allocate_in_block(size_t num_bytes) {
  const HostAllocator& allocator = context_.host_allocator();
  if (num_bytes > SIZE_MAX / 2) fail(Status::OutOfMemory, "%zu bytes of host memory could not be allocated", num_bytes);
  const size_t needed = sizeof(ArenaBlock) + num_bytes + kAlignment;
  ArenaBlock* block = nullptr;
  ArenaBlock* too_small = nullptr;
  for (auto& slot : context_.arena_pool_) {
    block = slot.exchange(nullptr, std::memory_order_acquire);
    if (block == nullptr) continue;
    if (block->num_bytes >= needed) break;
    if (too_small != nullptr) give_back(too_small);
    too_small = std::exchange(block, nullptr);
  }
  // If no block is large enough, one is replaced by a larger one, so that the blocks of the pool become as large as calls
  // need.
  if (too_small != nullptr && block != nullptr) give_back(too_small);
  if (too_small != nullptr && block == nullptr) destroy_arena_block(allocator, too_small);
  if (block == nullptr) {
    const size_t block_bytes = std::max(needed, blocks_ == nullptr ? kMinBlockBytes : 2 * blocks_->num_bytes);
    void* memory = nullptr;
    Error failure;
    if (host_allocate(allocator, block_bytes, kObjectAlignment, &memory, &failure) != Status::Ok) throw Error(failure);
    block = new (memory) ArenaBlock{nullptr, block_bytes};
  }
  block->next = blocks_;
  blocks_ = block;
  next_ = reinterpret_cast<std::byte*>(block) + sizeof(ArenaBlock);
  left_ = block->num_bytes - sizeof(ArenaBlock);
  return allocate(num_bytes);
}

void CallArena::give_back(ArenaBlock* block) const noexcept {
  for (auto& slot : context_.arena_pool_) {
    ArenaBlock* none = nullptr;
    if (slot.compare_exchange_strong(none, block, std::memory_order_release, std::memory_order_relaxed)) return;
  }
  destroy_arena_block(context_.host_allocator(), block);
}

// The oldest block first: a call with the same requests finds the blocks in the order in which it needs them.
void CallArena::give_back_all() noexcept {
  ArenaBlock* oldest = nullptr;
  while (blocks_ != nullptr) {
    ArenaBlock* const block = std::exchange(blocks_, blocks_->next);
    block->next = std::exchange(oldest, block);
  }
  while (oldest != nullptr) give_back(std::exchange(oldest, oldest->next));
}

}  // namespace heed
