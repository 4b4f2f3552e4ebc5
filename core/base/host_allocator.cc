// SPDX-License-Identifier: Apache-2.0
#include "base/host_allocator.h"

#include <cstdlib>

#include "base/kept_blocks.h"
#include "base/mapped_memory.h"

namespace heed {
namespace {

// What elements and workspaces are aligned to; objects that want more begin on the page.
constexpr size_t kMappedAlignment = 64;

// Blocks that all began on a page would have their first elements in the same lines of the cache, as their second, and
// so on: where one is read and another written, processors take such addresses for one another. So each begins
// somewhere else in its first page. (Calls that write attention weights took 1.2 times as long otherwise.)
size_t offset_in(const void* block) {
  return reinterpret_cast<uintptr_t>(block) / kSpareBytes * 13 % (kSpareBytes / kMappedAlignment) * kMappedAlignment;
}

std::byte* begin_of(void* memory) {
  return static_cast<std::byte*>(memory) - reinterpret_cast<uintptr_t>(memory) % kSpareBytes;
}

void* map_or_reuse(size_t num_bytes) {
  if (void* kept = kept_blocks().take(num_bytes)) return kept;
  void* mapped = map_block(num_bytes);
  return mapped == nullptr && kept_blocks().give_back() ? map_block(num_bytes) : mapped;
}

}  // namespace

void* allocate_from_c_library(void*, size_t num_bytes, size_t alignment) noexcept {
  if (is_mapped(num_bytes)) {
    void* block = map_or_reuse(num_bytes);
    return block == nullptr || alignment > kMappedAlignment ? block : static_cast<std::byte*>(block) + offset_in(block);
  }
  if (alignment <= kObjectAlignment) return std::malloc(num_bytes);
  // aligned_alloc wants a multiple of the alignment; no request may wrap round to a small one.
  if (num_bytes > SIZE_MAX - alignment) return nullptr;
  return std::aligned_alloc(alignment, (num_bytes + alignment - 1) / alignment * alignment);
}

void release_to_c_library(void*, void* memory, size_t num_bytes) noexcept {
  if (is_mapped(num_bytes)) return kept_blocks().keep(begin_of(memory), num_bytes);
  std::free(memory);
}

}  // namespace heed
