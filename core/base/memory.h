// SPDX-License-Identifier: Apache-2.0
// Allocates the bytes of tensors and workspaces; each open device has one implementation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/host_allocator.h"
#include "base/logger.h"

namespace heed {

// Every allocation begins at a cache line. The widest vector of any ISA has the same size.
inline constexpr size_t kMemoryAlignment = 64;

enum class Contents : int32_t { Undefined = 0, Zeros = 1 };

// From host memory to the device, from the device to host memory, or within the device's memory.
enum class Direction : int32_t { ToDevice = 0, ToHost = 1, OnDevice = 2 };

class Memory {
 public:
  explicit Memory(const HostAllocator& host_allocator = {}, const Logger& logger = {})
      : host_allocator_(host_allocator), logger_(logger) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  // The bytes are aligned to kMemoryAlignment. Throws OutOfMemory, or InvalidArgument where the host's allocator
  // returns an address with a smaller alignment.
  virtual void* allocate(size_t num_bytes, Contents contents) const = 0;
  virtual void release(void* memory, size_t num_bytes) const noexcept = 0;
  // A name such as "cpu:0"; tensors whose memories have the same name can be used together.
  virtual const char* device_name() const noexcept = 0;

  // Whether the processor can read and write this memory directly. If not, `copy` is the only access, and queued work
  // of the device may still use the memory.
  virtual bool is_host() const noexcept { return true; }
  // Copies bytes to, from or within this memory, after all work that is already queued on the device. When it returns,
  // the copy is complete for the host's bytes: they may be read or written. Throws DeviceLost, or the failure of work
  // that an earlier call queued.
  virtual void copy(void* destination, const void* source, size_t num_bytes, Direction direction) const {
    static_cast<void>(direction);
    if (num_bytes > 0) std::memcpy(destination, source, num_bytes);
  }
  // Waits until queued work on this memory has completed or failed.
  virtual void wait_idle() const noexcept {}

  // For the objects that own the bytes, and for messages about them.
  const HostAllocator& host_allocator() const noexcept { return host_allocator_; }
  const Logger& logger() const noexcept { return logger_; }

 private:
  HostAllocator host_allocator_;
  Logger logger_;
};

}  // namespace heed
