// SPDX-License-Identifier: Apache-2.0
// Memory of the C library and of the operating system.
#pragma once

#include <cstddef>

namespace heed::platform {

// AddressSanitizer detects writes behind a block of the C library, but not behind mapped pages.
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

// Memory of the C library; `alignment` is a power of two. Null if there is no memory.
void* allocate_aligned(size_t num_bytes, size_t alignment) noexcept;
// Frees what allocate_aligned returned; null is allowed.
void release_aligned(void* memory) noexcept;

// The size of a page, which is at least 4096 bytes.
size_t page_bytes() noexcept;

// Maps whole pages of zeros; null if there is no memory. The system allocates the memory of a page when it is first
// touched.
void* map_pages(size_t num_bytes) noexcept;
// Unmaps what map_pages returned; num_bytes is the same.
void unmap_pages(void* pages, size_t num_bytes) noexcept;

// Requests that these bytes, from one multiple of 2 MiB to another one, become large pages at their first touch; false if the
// system has none.
bool request_large_pages(void* memory, size_t num_bytes) noexcept;
// Touches whole pages in one system call; their content stays. Does nothing on systems without such a call.
void touch_pages(void* pages, size_t num_bytes) noexcept;

}  // namespace heed::platform
