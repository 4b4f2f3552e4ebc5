// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_memory.h"

#include <algorithm>
#include <bit>

namespace heed {

// Eight sizes between a power of two and the next.
size_t mapped_bytes(size_t num_bytes) {
  const size_t step = std::max(std::bit_floor(num_bytes) / 8, size_t{1});
  return (num_bytes + step - 1) / step * step;
}

void* map_block(size_t num_bytes) noexcept {
  // Rounding up must not overflow to a small size.
  if (num_bytes > SIZE_MAX / 2) return nullptr;
  return platform::map_pages(mapped_bytes(num_bytes) + kSpareBytes);
}

void unmap_block(void* block, size_t num_bytes) noexcept {
  platform::unmap_pages(block, mapped_bytes(num_bytes) + kSpareBytes);
}

}  // namespace heed
