// SPDX-License-Identifier: Apache-2.0
// A few freed blocks of mapped memory, kept for later allocations of their size. The system fills each page of a new block
// with zeros at its first touch; a program that allocates its results in each call would wait for that in each call.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/mapped_memory.h"

namespace heed {

// May be used by many threads at once. Has no lock: after a fork, a lock that another thread held in the parent would stay
// locked in the child for ever.
class KeptBlocks {
 public:
  static constexpr size_t kMaxBlocks = 16;
  static constexpr size_t kMaxBytes = size_t{16} << 20;

  constexpr KeptBlocks() = default;
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;
  ~KeptBlocks() { give_back(); }

  // Returns a kept block of mapped_bytes(num_bytes) with undefined content, which the caller now owns; null if there is
  // none.
  void* take(size_t num_bytes) noexcept;
  // Takes over a block that was mapped for num_bytes. Unmaps older blocks if there are too many, and this block if it is
  // too large to be kept.
  void keep(void* block, size_t num_bytes) noexcept;
  // Unmaps all blocks; returns false if there were none.
  bool give_back() noexcept;

 private:
  // Address and size of a block in one word, so that a block is taken by one atomic exchange: the address plus the size in
  // units of kept_blocks.cc. Null: no block.
  using Word = std::byte*;

  // Stores a word in the next slot, in turn, and returns the word that was there.
  Word exchange_next(Word word) noexcept;
  void unmap(Word word) noexcept;

  std::atomic<Word> words_[kMaxBlocks] = {};
  // Bytes of the blocks in words_. In a child that was forked between the two updates it may count one block too many.
  std::atomic<size_t> num_bytes_ = 0;
  std::atomic<size_t> next_ = 0;
};

// The kept blocks of this process.
KeptBlocks& kept_blocks() noexcept;

}  // namespace heed
