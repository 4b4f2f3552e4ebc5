// SPDX-License-Identifier: Apache-2.0
// Where the bytes of tensors and workspaces come from: one implementation for each open device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

// Every allocation starts on a cache line, which is also the widest vector of any ISA we have.
inline constexpr size_t kMemoryAlignment = 64;

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  // Bytes set to zero, aligned to kMemoryAlignment; throws OutOfMemory.
  virtual void* allocate(size_t num_bytes) const = 0;
  virtual void release(void* memory, size_t num_bytes) const noexcept = 0;
  // A name for messages, as "cpu:0"; memories with the same name can be used together.
  virtual const char* device_name() const noexcept = 0;
};

}  // namespace heed
