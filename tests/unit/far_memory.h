// SPDX-License-Identifier: Apache-2.0
// Memory that the processor cannot access, as on a device: allocate() returns an address outside any process's address
// space, so that only copy() reaches the bytes. A copy must be inside one block.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>

#include "base/memory.h"

namespace heed {

class FarMemory final : public Memory {
 public:
  void* allocate(size_t num_bytes, Contents) const override {
    void* const block = moved(std::calloc(1, num_bytes + 1), kDistance);
    blocks_[reinterpret_cast<intptr_t>(block)] = static_cast<int64_t>(num_bytes);
    return block;
  }
  void release(void* memory, size_t) const noexcept override {
    blocks_.erase(reinterpret_cast<intptr_t>(memory));
    std::free(moved(memory, -kDistance));
  }
  const char* device_name() const noexcept override { return "far:0"; }
  bool is_host() const noexcept override { return false; }
  void copy(void* destination, const void* source, size_t num_bytes, Direction direction) const override {
    ++num_copies;
    if (num_bytes == 0) return;
    ASSERT_TRUE(direction == Direction::ToHost || has(destination, num_bytes));
    ASSERT_TRUE(direction == Direction::ToDevice || has(source, num_bytes));
    std::memcpy(direction == Direction::ToHost ? destination : moved(destination, -kDistance),
                direction == Direction::ToDevice ? source : moved(const_cast<void*>(source), -kDistance), num_bytes);
  }
  void wait_idle() const noexcept override { ++num_waits; }

  mutable int num_copies = 0;
  mutable int num_waits = 0;

 private:
  // No process has addresses with this bit.
  static constexpr int64_t kDistance = int64_t{1} << 60;

  bool has(const void* memory, size_t num_bytes) const {
    const auto address = reinterpret_cast<intptr_t>(memory);
    const auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return false;
    const auto [begin, size] = *std::prev(after);
    return address + static_cast<int64_t>(num_bytes) <= begin + size;
  }

  // The size of each block, by its address.
  mutable std::map<intptr_t, int64_t> blocks_;

  static void* moved(void* memory, int64_t distance) {
    return reinterpret_cast<void*>(reinterpret_cast<intptr_t>(memory) + distance);
  }
};

}  // namespace heed
