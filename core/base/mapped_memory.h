// SPDX-License-Identifier: Apache-2.0
// Large blocks of host memory, each mapped by itself. Memory freed to the C library's heap returns to the system from
// the end of the heap only, so that one small block behind a thousand freed arrays would keep all of them resident.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/aligned_memory.h"

namespace heed {

// Smaller blocks are the C library's. This is the size from which glibc's malloc maps blocks at first (it raises its own
// limit as mapped blocks are freed, and soon puts up to 32 MB on its heap). With AddressSanitizer none is mapped.
inline constexpr size_t kMappedFrom = platform::kHasAddressSanitizer ? SIZE_MAX : size_t{128} << 10;

inline bool is_mapped(size_t num_bytes) { return num_bytes >= kMappedFrom; }

// The addresses that a block for num_bytes, at least kMappedFrom, takes: up to an eighth more than num_bytes, so that a
// freed block can be reused for others of nearly the same size. Memory is taken only by pages that are written.
size_t mapped_bytes(size_t num_bytes);

// Every block has so many bytes more, so that its content may begin at any offset in its first page. The smallest size
// of a page.
inline constexpr size_t kSpareBytes = 4096;

// A block of zeros for num_bytes, at least kMappedFrom, and kSpareBytes, at the beginning of a page. Null where there is
// no memory.
void* map_block(size_t num_bytes) noexcept;
// `num_bytes` as given to map_block.
void unmap_block(void* block, size_t num_bytes) noexcept;

}  // namespace heed
