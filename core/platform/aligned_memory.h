// SPDX-License-Identifier: Apache-2.0
// Memory of the C library and of the operating system.
#pragma once

#include <cstddef>

namespace heed::platform {

// AddressSanitizer checks writes behind a block of the C library's, and not behind mapped pages.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasAddressSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kHasAddressSanitizer = true;
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

// The C library's memory; `alignment` is a power of two. Null where there is none.
void* allocate_aligned(size_t num_bytes, size_t alignment) noexcept;
// What allocate_aligned returned, or null.
void release_aligned(void* memory) noexcept;

// The size of a page, which is at least 4096 bytes.
size_t page_bytes() noexcept;

// Whole pages of zeros, mapped by themselves; null where there is no memory. The system takes memory for a page when it
// is first touched.
void* map_pages(size_t num_bytes) noexcept;
// What map_pages returned, with the same size.
void unmap_pages(void* pages, size_t num_bytes) noexcept;

// Asks that these bytes, 2 MiB at a multiple of 2 MiB, be one large page at their first touch; false where the system
// has no large pages.
bool request_large_page(void* memory, size_t num_bytes) noexcept;
// Touches whole pages, in one system call; their content stays. Nothing happens where the system cannot.
void touch_pages(void* pages, size_t num_bytes) noexcept;

}  // namespace heed::platform
