// SPDX-License-Identifier: Apache-2.0
// Pinned memory of the host, from which the device copies while the host goes on.
#pragma once

#include <cstddef>

namespace heed::ascend {

// What is put in one after the other is asked of the device in the same order. When it is full, the next waits for the
// device.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Larger pieces are not worth a second copy.
  static constexpr size_t kCapacity = size_t{1} << 20;

  // Place for num_bytes, at most kCapacity; `wait_idle` waits until the device is done with all that lies here. Throws
  // OutOfMemory.
  template <typename WaitIdle>
  void* take(size_t num_bytes, const WaitIdle& wait_idle) {
    if (memory_ == nullptr) allocate();
    if (kCapacity - used_ < num_bytes) {
      wait_idle();
      used_ = 0;
    }
    void* place = static_cast<char*>(memory_) + used_;
    used_ += (num_bytes + kAlignment - 1) / kAlignment * kAlignment;
    return place;
  }
  // The device is done with all that lies here.
  void reset() { used_ = 0; }
  // Gives the memory back. The device is done with it.
  void free();

 private:
  static constexpr size_t kAlignment = 64;

  void allocate();

  void* memory_ = nullptr;
  size_t used_ = 0;
};

}  // namespace heed::ascend
