// SPDX-License-Identifier: Apache-2.0
#include "base/kept_blocks.h"

#include <cstdint>

namespace heed {
namespace {

// A block begins at a page, so the low bits of its address are zero; they hold its size in these units.
constexpr size_t kPageBytes = 4096;
constexpr size_t kUnitBytes = size_t{16} << 10;
static_assert(kMappedFrom == SIZE_MAX || kMappedFrom / 8 % kUnitBytes == 0);
static_assert(KeptBlocks::kMaxBytes / kUnitBytes < kPageBytes);

std::byte* word_of(void* block, size_t bytes) { return static_cast<std::byte*>(block) + bytes / kUnitBytes; }

size_t units_of(const std::byte* word) { return reinterpret_cast<uintptr_t>(word) % kPageBytes; }

size_t bytes_of(const std::byte* word) { return units_of(word) * kUnitBytes; }

void* block_of(std::byte* word) { return word - units_of(word); }

// Its destructor unmaps the blocks when the library is unloaded.
constinit KeptBlocks blocks_of_process;

}  // namespace

void* KeptBlocks::take(size_t num_bytes) noexcept {
  const size_t bytes = mapped_bytes(num_bytes);
  for (auto& kept : words_) {
    Word word = kept.load(std::memory_order_relaxed);
    if (word == nullptr || bytes_of(word) != bytes) continue;
    if (!kept.compare_exchange_strong(word, nullptr, std::memory_order_acquire, std::memory_order_relaxed)) continue;
    num_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return block_of(word);
  }
  return nullptr;
}

void KeptBlocks::keep(void* block, size_t num_bytes) noexcept {
  const size_t bytes = mapped_bytes(num_bytes);
  if (bytes > kMaxBytes) return unmap_block(block, num_bytes);
  num_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  const Word given = word_of(block, bytes);
  for (size_t turn = 0; num_bytes_.load(std::memory_order_relaxed) > kMaxBytes; ++turn) {
    // All slots were emptied: the bytes above the limit belong to blocks that other threads are storing now.
    if (turn == kMaxBlocks) return unmap(given);
    unmap(exchange_next(nullptr));
  }
  for (auto& kept : words_) {
    Word none = nullptr;
    if (kept.compare_exchange_strong(none, given, std::memory_order_release, std::memory_order_relaxed)) return;
  }
  unmap(exchange_next(given));
}

bool KeptBlocks::give_back() noexcept {
  bool has_given = false;
  for (auto& kept : words_) {
    const Word word = kept.exchange(nullptr, std::memory_order_acquire);
    has_given = has_given || word != nullptr;
    unmap(word);
  }
  return has_given;
}

KeptBlocks::Word KeptBlocks::exchange_next(Word word) noexcept {
  return words_[next_.fetch_add(1, std::memory_order_relaxed) % kMaxBlocks].exchange(word, std::memory_order_acq_rel);
}

void KeptBlocks::unmap(Word word) noexcept {
  if (word == nullptr) return;
  num_bytes_.fetch_sub(bytes_of(word), std::memory_order_relaxed);
  unmap_block(block_of(word), bytes_of(word));
}

KeptBlocks& kept_blocks() noexcept { return blocks_of_process; }

}  // namespace heed
