// SPDX-License-Identifier: Apache-2.0
// Memory between two guards. Under the address sanitizer an access to a guard ends the program; otherwise is_intact()
// reports what was written there.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "support/platform/memory.h"

namespace heed {

class GuardedMemory {
 public:
  // The bytes begin `offset` bytes after a multiple of kAlignment.
  explicit GuardedMemory(size_t num_bytes, size_t offset = 0)
      : num_bytes_(num_bytes), memory_(num_bytes + 2 * kGuardBytes + kAlignment, kPattern) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data() + kGuardBytes);
    begin_ = kGuardBytes + (kAlignment + offset - address % kAlignment) % kAlignment;
    close();
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { open(); }

  void* data() { return memory_.data() + begin_; }

  // Whether no guard was written.
  testing::AssertionResult is_intact() const {
    open();
    const auto is_written = [](unsigned char byte) { return byte != kPattern; };
    const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto end = begin + static_cast<std::ptrdiff_t>(num_bytes_);
    const auto before = std::find_if(memory_.begin(), begin, is_written);
    const auto last = std::find_if(memory_.rbegin(), std::make_reverse_iterator(end), is_written).base();
    close();
    if (before != begin)
      return testing::AssertionFailure() << begin - before << " bytes before the memory were written";
    if (last != end) {
      return testing::AssertionFailure() << "up to " << last - end << " bytes behind the memory, of " << num_bytes_
                                         << " bytes, were written";
    }
    return testing::AssertionSuccess();
  }

 private:
  static constexpr unsigned char kPattern = 0x5d;
  static constexpr size_t kAlignment = 64;
  // More than what a worker needs in tests, so that one worker too many writes into a guard.
  static constexpr size_t kGuardBytes = size_t{1} << 17;

  void close() const {
    const size_t end = begin_ + num_bytes_;
    poison(memory_.data(), begin_);
    poison(memory_.data() + end, memory_.size() - end);
  }
  void open() const { unpoison(memory_.data(), memory_.size()); }

  size_t num_bytes_;
  size_t begin_ = 0;
  std::vector<unsigned char> memory_;
};

}  // namespace heed
