// SPDX-License-Identifier: Apache-2.0
#include "base/fresh_memory.h"

#include <cstdint>

#include "platform/aligned_memory.h"
#include "platform/threads.h"

namespace heed {
namespace {

// The time of one large page (2 MiB) at 2 GB/s. The system writes zeros at about 10 GB/s; it provides small pages at 2
// to 8 GB/s, and pages that come from a virtual machine's host at 0.5 GB/s.
constexpr int64_t kSlowNanoseconds = 1'000'000;

// Writes the byte without changing its value.
void touch_byte(std::byte* byte) {
  static_cast<void>(__atomic_fetch_or(reinterpret_cast<unsigned char*>(byte), 0, __ATOMIC_RELAXED));
}

}  // namespace

size_t FreshMemory::count_chunks(const void* block, size_t num_bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(block) / kChunkBytes;
  const auto end = (reinterpret_cast<uintptr_t>(block) + num_bytes + kChunkBytes - 1) / kChunkBytes;
  return end - begin;
}

void FreshMemory::touch(void* block, size_t num_bytes, size_t chunk) noexcept {
  auto* const bytes = static_cast<std::byte*>(block);
  const auto begin = reinterpret_cast<uintptr_t>(block);
  const uintptr_t first = begin / kChunkBytes * kChunkBytes + chunk * kChunkBytes;
  const bool is_whole = first >= begin && first + kChunkBytes <= begin + num_bytes;
  if (is_whole && wants_large_.load(std::memory_order_relaxed) &&
      platform::request_large_pages(bytes + (first - begin), kChunkBytes)) {
    // The CPU time of this thread, so that time in which other threads run on its processor does not count as a slow
    // page.
    const int64_t start = platform::nanoseconds_of_thread();
    touch_byte(bytes + (first - begin));
    if (platform::nanoseconds_of_thread() - start > kSlowNanoseconds)
      wants_large_.store(false, std::memory_order_relaxed);
    return;
  }
  // Only whole small pages: other blocks may share the first and the last.
  const uintptr_t page = platform::page_bytes();
  const uintptr_t from = is_whole || first >= begin ? first : (begin + page - 1) / page * page;
  const uintptr_t to = is_whole ? first + kChunkBytes : (begin + num_bytes) / page * page;
  const uintptr_t end = first + kChunkBytes < to ? first + kChunkBytes : to;
  if (from < end) platform::touch_pages(bytes + (from - begin), end - from);
}

void FreshMemory::request_large(void* block, size_t num_bytes) noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(block);
  const uintptr_t first = (begin + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
  const uintptr_t end = (begin + num_bytes) / kChunkBytes * kChunkBytes;
  if (first < end) platform::request_large_pages(static_cast<std::byte*>(block) + (first - begin), end - first);
}

}  // namespace heed
