// SPDX-License-Identifier: Apache-2.0
// Large blocks of host memory, each in a mapping of its own. The C library returns freed heap memory to the system from
// the end of the heap only: one small block after a thousand freed arrays would keep all their memory resident.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/aligned_memory.h"

namespace heed {

// Smaller blocks are the C library's. This is the initial size from which glibc's malloc maps blocks. (glibc raises its
// limit when mapped blocks are freed, and soon puts blocks of up to 32 MB on its heap.) With AddressSanitizer no block
// is mapped.
inline constexpr size_t kMappedFrom = platform::kHasAddressSanitizer ? SIZE_MAX : size_t{128} << 10;

inline bool is_mapped(size_t num_bytes) { return num_bytes >= kMappedFrom; }

// The bytes of address space for a block of num_bytes, at least kMappedFrom. Rounded up by at most an eighth, so that a
// freed block can be reused for another one of nearly the same size. Only pages that are written take memory.
size_t mapped_bytes(size_t num_bytes);

// Every block is larger by this many bytes, the smallest page size, so that its content can begin at any offset in its
// first page.
inline constexpr size_t kSpareBytes = 4096;

// Maps a block of zeros, of at least num_bytes + kSpareBytes bytes, which begins at a page; num_bytes is at least
// kMappedFrom. Returns null if there is no memory.
void* map_block(size_t num_bytes) noexcept;
// `num_bytes` as given to map_block.
void unmap_block(void* block, size_t num_bytes) noexcept;

}  // namespace heed
