// SPDX-License-Identifier: Apache-2.0
// Where the bytes of tensors and workspaces come from: one implementation for each open device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_allocator.h"
#include "base/logger.h"

namespace heed {

// Every allocation starts on a cache line, which is also the widest vector of any ISA we have.
inline constexpr size_t kMemoryAlignment = 64;

enum class Contents : int32_t { Undefined = 0, Zeros = 1 };

class Memory {
 public:
  explicit Memory(const HostAllocator& host_allocator = {}, const Logger& logger = {})
      : host_allocator_(host_allocator), logger_(logger) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  // Bytes aligned to kMemoryAlignment; throws OutOfMemory, or InvalidArgument for a host's allocator that misaligns.
  virtual void* allocate(size_t num_bytes, Contents contents) const = 0;
  virtual void release(void* memory, size_t num_bytes) const noexcept = 0;
  // A name for messages, as "cpu:0"; memories with the same name can be used together.
  virtual const char* device_name() const noexcept = 0;

  // For the objects around the bytes, and for messages about them.
  const HostAllocator& host_allocator() const noexcept { return host_allocator_; }
  const Logger& logger() const noexcept { return logger_; }

 private:
  HostAllocator host_allocator_;
  Logger logger_;
};

}  // namespace heed
