// SPDX-License-Identifier: Apache-2.0
// A few freed blocks of mapped memory, kept for the next of their size: the system fills each page of a new one with
// zeros at its first touch, which a call that makes its results anew would wait for again and again.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/mapped_memory.h"

namespace heed {

// Used from any threads, without a lock: in the child of a fork a lock could stay held for ever, by a thread that exists in
// the parent alone.
class KeptBlocks {
 public:
  static constexpr size_t kMaxBlocks = 16;
  static constexpr size_t kMaxBytes = size_t{16} << 20;

  constexpr KeptBlocks() = default;
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;
  ~KeptBlocks() { give_back(); }

  // A kept block of mapped_bytes(num_bytes), now the caller's, which holds anything; null where there is none.
  void* take(size_t num_bytes) noexcept;
  // Takes a block that was mapped for num_bytes, in the place of older ones where there are too many; unmaps it where
  // it is too large to be kept.
  void keep(void* block, size_t num_bytes) noexcept;
  // Unmaps all; false where there were none.
  bool give_back() noexcept;

 private:
  // Address and size in one word, so that a block is taken by one exchange: the block's byte whose number is the size in
  // units. Null: none.
  using Word = std::byte*;

  // Puts a word into the place whose turn it is, and gives what was there.
  Word exchange_next(Word word) noexcept;
  void unmap(Word word) noexcept;

  std::atomic<Word> words_[kMaxBlocks] = {};
  // Of the blocks in words_. In the child of a fork that came between the two it may be a block too many.
  std::atomic<size_t> num_bytes_ = 0;
  std::atomic<size_t> next_ = 0;
};

// Those of the process.
KeptBlocks& kept_blocks() noexcept;

}  // namespace heed
