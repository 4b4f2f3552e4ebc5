// SPDX-License-Identifier: Apache-2.0
// A buffer in pinned host memory. The device copies from it while the host goes on.
#pragma once

#include <cstddef>

namespace heed::ascend {

// A buffer that is filled from its beginning, for copies that the device makes in the same order. When it is full, the
// next request waits until the device has made all of them.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Larger data is not staged: the time saved would not pay for the second copy.
  static constexpr size_t kCapacity = size_t{1} << 20;

  // Returns space for num_bytes, at most kCapacity. `wait_idle` waits until the device has copied everything from the
  // buffer; it is called if the buffer is full. Throws OutOfMemory.
  template <typename WaitIdle>
  void* take(size_t num_bytes, const WaitIdle& wait_idle) {
    if (memory_ == nullptr) allocate();
    if (kCapacity - used_ < num_bytes) {
      wait_idle();
      used_ = 0;
    }
    void* space = static_cast<char*>(memory_) + used_;
    used_ += (num_bytes + kAlignment - 1) / kAlignment * kAlignment;
    return space;
  }
  // Tells that the device has copied everything from the buffer.
  void reset() { used_ = 0; }
  // Releases the memory. The device must have copied everything from it.
  void free();

 private:
  static constexpr size_t kAlignment = 64;

  void allocate();

  void* memory_ = nullptr;
  size_t used_ = 0;
};

}  // namespace heed::ascend
