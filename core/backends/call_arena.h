// SPDX-License-Identifier: Apache-2.0
// Host memory that one call needs until it returns: the steps of its schedule, and data that is derived from its
// inputs. The first bytes are in the object, which is on the caller's stack. Beyond them the arena takes blocks that
// the context keeps from call to call, so that a call of the same size as an earlier one allocates nothing. This is
// host memory on every device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "backends/context.h"

namespace heed {

// The header of a block, which is followed by its memory.
struct alignas(kObjectAlignment) ArenaBlock {
  ArenaBlock* next;  // the previous block of the same call
  size_t num_bytes;  // including the header
};

void destroy_arena_block(const HostAllocator& allocator, ArenaBlock* block) noexcept;

class CallArena {
 public:
  // Enough for a call of multi-head attention with three inputs.
  static constexpr size_t kInlineBytes = 11000;
  // Of all memory of the arena. No object of a call needs more, and with kObjectAlignment a call would need 136 bytes
  // more of the stack.
  static constexpr size_t kAlignment = 8;

  // The context outlives the arena.
  explicit CallArena(const Context& context) : context_(context) {}
  CallArena(const CallArena&) = delete;
  CallArena& operator=(const CallArena&) = delete;
  ~CallArena() {
    if (blocks_ != nullptr) give_back_all();
  }

  // Returns memory that is aligned to kAlignment, with undefined contents. It is valid until the arena is destroyed.
  // Throws OutOfMemory.
  void* allocate(size_t num_bytes) {
    // A multiple of the alignment, so that the next allocation is aligned too.
    const size_t rounded = (num_bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (rounded < num_bytes || rounded > left_) return allocate_in_block(num_bytes);
    std::byte* result = next_;
    next_ += rounded;
    left_ -= rounded;
    return result;
  }

  // Memory for `count` objects, which the caller creates. Their destructors are never called.
  template <typename T>
  T* allocate_for(size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kAlignment);
    // A size that would overflow is refused as one that is too large.
    return static_cast<T*>(allocate(count > SIZE_MAX / sizeof(T) ? SIZE_MAX : count * sizeof(T)));
  }

  // Creates an object whose destructor is never called.
  template <typename T, typename... Arguments>
  T& make(Arguments&&... arguments) {
    return *new (allocate_for<T>(1)) T{std::forward<Arguments>(arguments)...};
  }

 private:
  void* allocate_in_block(size_t num_bytes);
  // To the pool, or to the host if the pool has no room.
  void give_back(ArenaBlock* block) const noexcept;
  void give_back_all() noexcept;

  const Context& context_;
  ArenaBlock* blocks_ = nullptr;
  std::byte* next_ = inline_;
  size_t left_ = kInlineBytes;
  alignas(kAlignment) std::byte inline_[kInlineBytes];
};

}  // namespace heed
