// SPDX-License-Identifier: Apache-2.0
// A device's memory in blocks that are kept when they are given back, since the driver's own allocation is slow and does
// not wait for work that is under way.
//
// Whoever takes a block uses it on the one stream of the device, on which all earlier users of it have been asked to
// work: so a block can be given back, and taken again, while it is still in use.
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

  // A block of at least so many bytes, aligned to 64, with 32 spare bytes behind them, which kernels may read. Its
  // contents are undefined. Throws OutOfMemory where the device has none and nothing is kept that could be freed.
  // `wait_idle` is called before blocks go back to the driver.
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
  // Gives all that is kept back to the driver. Nothing may be using it.
  void free_kept() noexcept;

 private:
  // Blocks of few sizes, so that they fit again; a function of the number of bytes asked for.
  static size_t block_size(size_t num_bytes);
  void* take_kept(size_t size);
  // Null where the device is full; throws for other failures.
  void* allocate(size_t size);
  [[noreturn]] static void fail_full(size_t num_bytes);

  // Blocks of one size. There is room for all that were taken, so that none can fail to be given back.
  struct Blocks {
    std::vector<void*> kept;
    size_t num_blocks = 0;
  };
  std::map<size_t, Blocks> blocks_;
};

}  // namespace heed::ascend
