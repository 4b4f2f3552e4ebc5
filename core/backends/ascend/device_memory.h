// SPDX-License-Identifier: Apache-2.0
// A device's memory in blocks. Released blocks are kept for later calls, because the driver's allocation is slow and
// freeing does not wait for queued work.
//
// A block may be released, and taken again, while queued work still uses it: all work on the device goes through one
// stream, so the next user's work runs after that of the last.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace heed::ascend {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // A block of at least num_bytes, aligned to 64, followed by 32 spare bytes, which kernels may read. Its contents are
  // undefined. If the device is full, calls `wait_idle`, frees the kept blocks and tries once more. Throws OutOfMemory if
  // that fails too.
  template <typename WaitIdle>
  void* take(size_t num_bytes, const WaitIdle& wait_idle) {
    const size_t size = block_size(num_bytes);
    if (void* kept = take_kept(size); kept != nullptr) return kept;
    if (void* fresh = allocate(size); fresh != nullptr) return fresh;
    wait_idle();
    free_kept();
    if (void* fresh = allocate(size); fresh != nullptr) return fresh;
    fail_full(num_bytes);
  }
  void give(void* block, size_t num_bytes) noexcept;
  // Returns all kept blocks to the driver. No queued work may use them.
  void free_kept() noexcept;

 private:
  // The size of the block for num_bytes. There are few sizes, so that a released block fits later requests.
  static size_t block_size(size_t num_bytes);
  void* take_kept(size_t size);
  // Null if the device is full; throws for other failures.
  void* allocate(size_t size);
  [[noreturn]] static void fail_full(size_t num_bytes);

  // Blocks of one size. `kept` has capacity for all of them, so that `give` cannot fail.
  struct Blocks {
    std::vector<void*> kept;
    size_t num_blocks = 0;
  };
  std::map<size_t, Blocks> blocks_;
};

}  // namespace heed::ascend
