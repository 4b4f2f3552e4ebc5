// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace heed {

// Eight sizes between a power of two and the next.
size_t mapped_bytes(size_t num_bytes) {
  const size_t step = std::max(std::bit_floor(num_bytes) / 8, size_t{1});
  return (num_bytes + step - 1) / step * step;
}

void* map_block(size_t num_bytes) noexcept {
  // No request may wrap round to a small one.
  if (num_bytes > SIZE_MAX / 2) return nullptr;
  const size_t bytes = mapped_bytes(num_bytes) + kSpareBytes;
  void* block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? nullptr : block;
}

void unmap_block(void* block, size_t num_bytes) noexcept {
  const size_t bytes = mapped_bytes(num_bytes) + kSpareBytes;
  if (::munmap(block, bytes) == 0) return;
  // Linux refuses to part a mapping in two where the process has all the mappings that it may have (65,530 by default).
  // The addresses are lost then, the memory is not.
  ::madvise(block, bytes, MADV_DONTNEED);
}

}  // namespace heed
