// SPDX-License-Identifier: Apache-2.0
// Integers rounded up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.h"

namespace heed {

constexpr int64_t divide_up(int64_t value, int64_t divisor) { return value / divisor + (value % divisor != 0 ? 1 : 0); }

constexpr int64_t round_up(int64_t value, int64_t multiple) { return divide_up(value, multiple) * multiple; }

// Rounds up to a multiple of kMemoryAlignment.
constexpr size_t round_up_to_alignment(size_t num_bytes) {
  return (num_bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

// The first byte from `memory` on that is aligned to kMemoryAlignment.
inline std::byte* aligned_begin(void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  return static_cast<std::byte*>(memory) + (round_up_to_alignment(address) - address);
}

}  // namespace heed
