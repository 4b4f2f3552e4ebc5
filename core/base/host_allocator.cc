// SPDX-License-Identifier: Apache-2.0
#include "base/host_allocator.h"

#include "base/kept_blocks.h"
#include "base/mapped_memory.h"
#include "platform/aligned_memory.h"

namespace heed {
namespace {

// The alignment of elements and workspaces. An object with a larger alignment begins at the start of a page.
constexpr size_t kMappedAlignment = 64;

// Each block begins at another offset in its first page. If all blocks began at the start of a page, elements with the
// same index in two blocks would map to the same cache sets, and a processor would take a load from one block for a
// load of what it has just stored in the other (4K aliasing): calls that write attention weights took 1.2 times as
// long.
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
  if (!is_mapped(num_bytes)) return platform::allocate_aligned(num_bytes, alignment);
  void* block = map_or_reuse(num_bytes);
  return block == nullptr || alignment > kMappedAlignment ? block : static_cast<std::byte*>(block) + offset_in(block);
}

void release_to_c_library(void*, void* memory, size_t num_bytes) noexcept {
  if (is_mapped(num_bytes)) return kept_blocks().keep(begin_of(memory), num_bytes);
  platform::release_aligned(memory);
}

}  // namespace heed
