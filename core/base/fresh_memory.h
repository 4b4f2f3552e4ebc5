// SPDX-License-Identifier: Apache-2.0
// Touches large blocks of new memory before they are written. At the first touch the system finds a page and fills it
// with zeros, which takes most of the time of loading a weight.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/host_allocator.h"

namespace heed {

// For the blocks of one call. Only memory of the C library is touched, since a host's allocator may manage its pages
// itself; and only blocks that will be written to their end, so that no memory is taken that would not be taken anyway.
class FreshMemory {
 public:
  // The bytes of a chunk, which is touched at once: a large page.
  static constexpr size_t kChunkBytes = size_t{2} << 20;

  // Whether a block is large enough to be touched.
  static bool is_for(const HostAllocator& allocator, size_t num_bytes) {
    return allocator.allocate == allocate_from_c_library && num_bytes >= kChunkBytes;
  }
  // Chunks begin at multiples of kChunkBytes; the first and the last may hold only a part of the block.
  static size_t count_chunks(const void* block, size_t num_bytes);

  // Touches chunk 0 to count_chunks - 1 of a block, from any thread. It requests a large page: one page fault takes the
  // place of 512, and later address translations take fewer steps. After one large page that took longer than small
  // pages do, small pages are touched instead, many at a time. That happens in a virtual machine that has given its free
  // memory back to its host: then every large page comes from the host, while most small pages are ones that were freed
  // recently. A refusal by the system changes nothing.
  void touch(void* block, size_t num_bytes, size_t chunk) noexcept;

 private:
  std::atomic<bool> wants_large_ = true;
};

}  // namespace heed
