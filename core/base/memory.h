// SPDX-License-Identifier: Apache-2.0
// Where the bytes of tensors and workspaces come from: one implementation for each open device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/host_allocator.h"
#include "base/logger.h"

namespace heed {

// Every allocation starts on a cache line, which is also the widest vector of any ISA we have.
inline constexpr size_t kMemoryAlignment = 64;

enum class Contents : int32_t { Undefined = 0, Zeros = 1 };

// Between the host's memory and a device's, or within the device's.
enum class Direction : int32_t { ToDevice = 0, ToHost = 1, OnDevice = 2 };

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

  // Whether the processor reads and writes it directly. If not, `copy` is the only way, and what was asked of the
  // device may still be using the memory.
  virtual bool is_host() const noexcept { return true; }
  // Copies bytes of which those on the device are this memory's, after all that was asked of the device before. When it
  // returns, the host's side may be read or written. Throws DeviceLost, and what a call failed with that had returned.
  virtual void copy(void* destination, const void* source, size_t num_bytes, Direction direction) const {
    static_cast<void>(direction);
    if (num_bytes > 0) std::memcpy(destination, source, num_bytes);
  }
  // Returns when nothing that was asked of the device uses memory any more, however that ended.
  virtual void settle() const noexcept {}

  // For the objects around the bytes, and for messages about them.
  const HostAllocator& host_allocator() const noexcept { return host_allocator_; }
  const Logger& logger() const noexcept { return logger_; }

 private:
  HostAllocator host_allocator_;
  Logger logger_;
};

}  // namespace heed
