// SPDX-License-Identifier: Apache-2.0
// Touches large blocks of new memory before they are written. At the first touch of a page the system finds memory for
// it and fills it with zeros. Most of the time to load a weight goes there.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/host_allocator.h"

namespace heed {

// For the blocks of one call. It touches only memory of the C library, since a host's allocator may manage its pages
// itself. Use it only for blocks that will be written completely: then it takes no more memory from the system than the
// writes would.
class FreshMemory {
 public:
  // The bytes of a chunk, the unit of one touch(): one large page.
  static constexpr size_t kChunkBytes = size_t{2} << 20;

  // Whether a block is large enough to be touched.
  static bool is_for(const HostAllocator& allocator, size_t num_bytes) {
    return allocator.allocate == allocate_from_c_library && num_bytes >= kChunkBytes;
  }
  // Chunks begin at multiples of kChunkBytes; the first and the last may hold only a part of the block.
  static size_t count_chunks(const void* block, size_t num_bytes);

  // Touches chunk 0 to count_chunks - 1 of a block, from any thread. It requests a large page: one page fault replaces
  // 512, and later address translations take fewer steps. If a large page takes longer than small pages do, later calls
  // touch small pages instead, many at a time. Large pages are slow in a virtual machine that has given its free memory
  // back to its host: every large page then comes from the host, while most small pages were freed recently. A refusal
  // by the system is ignored: the later writes then touch the pages.
  void touch(void* block, size_t num_bytes, size_t chunk) noexcept;

  // Requests large pages for all whole chunks of a block, however long the system takes to provide them: for memory
  // that is kept for long and read in any order. It only makes the request: a later write to each page makes the system
  // provide it. If the system refuses, the block has small pages.
  static void request_large(void* block, size_t num_bytes) noexcept;

 private:
  std::atomic<bool> wants_large_ = true;
};

}  // namespace heed
