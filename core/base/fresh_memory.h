// SPDX-License-Identifier: Apache-2.0
// The first touch of large blocks of memory, for which the system has to find pages and to fill them with zeros: of all
// that it takes to load a weight, the most.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/host_allocator.h"

namespace heed {

// For the blocks of one call. Only the C library's memory is touched, and only blocks that will be written to their end,
// so that no memory is taken that would not be anyway: how a host's allocator has its memory is the host's to say.
class FreshMemory {
 public:
  // Bytes of a piece that is touched at once: a large page.
  static constexpr size_t kPieceBytes = size_t{2} << 20;

  // Whether a block is worth it.
  static bool is_for(const HostAllocator& allocator, size_t num_bytes) {
    return allocator.allocate == allocate_from_c_library && num_bytes >= kPieceBytes;
  }
  // A block has pieces 0 to count_pieces - 1; beginning and end belong to the first and the last.
  static size_t count_pieces(const void* block, size_t num_bytes);

  // Touches a piece of a block, from any thread. Asks for a large page: one fault takes the place of 512, and addresses
  // are found in fewer steps ever after. Where one took longer than small pages do, small ones are asked for from then
  // on, many at a time. That is so in a virtual machine that has given its free memory back to its host: of large pages
  // each then comes from there, while the small ones are mostly those that were freed last. Nothing is promised, and a
  // refusal changes nothing.
  void touch(void* block, size_t num_bytes, size_t piece) noexcept;

 private:
  std::atomic<bool> wants_large_ = true;
};

}  // namespace heed
