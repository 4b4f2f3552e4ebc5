// SPDX-License-Identifier: Apache-2.0
#include "platform/aligned_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace heed::platform {

void* allocate_aligned(size_t num_bytes, size_t alignment) noexcept {
  if (alignment <= alignof(std::max_align_t)) return std::malloc(num_bytes);
  // aligned_alloc takes a multiple of the alignment; rounding up must not wrap round to a small size.
  if (num_bytes > SIZE_MAX - alignment) return nullptr;
  return std::aligned_alloc(alignment, (num_bytes + alignment - 1) / alignment * alignment);
}

void release_aligned(void* memory) noexcept { std::free(memory); }

size_t page_bytes() noexcept { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

void* map_pages(size_t num_bytes) noexcept {
  void* pages = ::mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

void unmap_pages(void* pages, size_t num_bytes) noexcept {
  if (::munmap(pages, num_bytes) == 0) return;
  // Linux refuses to split a mapping in two when the process has the maximum number of mappings (65,530 by default).
  // The addresses then stay reserved, but the memory is released.
  ::madvise(pages, num_bytes, MADV_DONTNEED);
}

}  // namespace heed::platform
