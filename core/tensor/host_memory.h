// SPDX-License-Identifier: Apache-2.0
// Host memory for data that a call keeps on the host, for tensors on any device.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "base/memory.h"

namespace heed {

class HostMemory final : public Memory {
 public:
  using Memory::Memory;

  void* allocate(size_t num_bytes, Contents contents) const override {
    void* memory = nullptr;
    Error failure;
    if (host_allocate(host_allocator(), num_bytes, kMemoryAlignment, &memory, &failure) != Status::Ok) throw failure;
    if (contents == Contents::Zeros) std::memset(memory, 0, num_bytes);
    return memory;
  }
  void release(void* memory, size_t num_bytes) const noexcept override {
    host_release(host_allocator(), memory, num_bytes);
  }
  const char* device_name() const noexcept override { return "cpu:0"; }
};

// `memory` itself if it is host memory, otherwise host memory with the same allocator.
inline std::shared_ptr<const Memory> host_memory_of(const std::shared_ptr<const Memory>& memory) {
  if (memory->is_host()) return memory;
  return host_make_shared<HostMemory>(memory->host_allocator(), memory->host_allocator(), memory->logger());
}

}  // namespace heed
