// SPDX-License-Identifier: Apache-2.0
// Keeps a few freed blocks of mapped memory for later allocations of the same size. The system fills each page of a new
// block with zeros at its first touch. A program that allocates its results in every call would wait for this in every
// call.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/mapped_memory.h"

namespace heed {

// Safe for concurrent calls, without a lock: a lock that another thread of the parent held during a fork would stay
// locked in the child for ever.
class KeptBlocks {
 public:
  static constexpr size_t kMaxBlocks = 16;
  static constexpr size_t kMaxBytes = size_t{16} << 20;

  constexpr KeptBlocks() = default;
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;
  ~KeptBlocks() { give_back(); }

  // Returns a kept block of mapped_bytes(num_bytes), or null if there is none. The caller owns it; its content is
  // undefined.
  void* take(size_t num_bytes) noexcept;
  // Takes ownership of a block that was mapped for num_bytes. Unmaps older blocks if there are too many, and this block
  // if it is too large to be kept.
  void keep(void* block, size_t num_bytes) noexcept;
  // Unmaps all blocks; returns false if there were none.
  bool give_back() noexcept;

 private:
  // Address and size of a block in one word, so that one atomic exchange takes a block. The word is the address plus
  // the size in the units that kept_blocks.cc defines; null means no block.
  using Word = std::byte*;

  // Stores a word in the next slot, in turn, and returns the word that was there.
  Word exchange_next(Word word) noexcept;
  void unmap(Word word) noexcept;

  std::atomic<Word> words_[kMaxBlocks] = {};
  // Bytes of the blocks in words_. If a process forks between the updates of the two, its child may count one block too
  // many.
  std::atomic<size_t> num_bytes_ = 0;
  std::atomic<size_t> next_ = 0;
};

// The kept blocks of this process.
KeptBlocks& kept_blocks() noexcept;

}  // namespace heed
