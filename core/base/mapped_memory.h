// SPDX-License-Identifier: Apache-2.0
// Large blocks of host memory, each mapped by itself. What is freed of the C library's heap returns to the system only
// from the heap's end, so that one small block behind a thousand freed arrays would keep all of them resident.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

// Blocks of fewer bytes are the C library's; as large as the least that glibc's malloc maps to begin with. (glibc then
// learns from the blocks that are freed, and soon puts up to 32 MB on its heap.)
#if defined(__SANITIZE_ADDRESS__)
#define HEED_HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEED_HAS_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef HEED_HAS_ADDRESS_SANITIZER
// AddressSanitizer sees what is written behind a block of malloc's, and not behind a mapped one.
inline constexpr size_t kMappedFrom = SIZE_MAX;
#undef HEED_HAS_ADDRESS_SANITIZER
#else
inline constexpr size_t kMappedFrom = size_t{128} << 10;
#endif

inline bool is_mapped(size_t num_bytes) { return num_bytes >= kMappedFrom; }

// What a block for num_bytes, at least kMappedFrom, takes of the address space: up to an eighth more, so that blocks of
// nearly the same size can take each other's place. Memory is taken by the pages that are written.
size_t mapped_bytes(size_t num_bytes);

// What every block has beyond that, so that its bytes may begin anywhere in its first page; the least that a page has.
inline constexpr size_t kSpareBytes = 4096;

// For num_bytes, at least kMappedFrom, and kSpareBytes; on a page's beginning, zeros. Null where there is no memory.
void* map_block(size_t num_bytes) noexcept;
// With the num_bytes that it was mapped for.
void unmap_block(void* block, size_t num_bytes) noexcept;

}  // namespace heed
