// SPDX-License-Identifier: Apache-2.0
// Host memory for tensors in tests that need no context.
#pragma once

#include <cstdlib>
#include <memory>

#include "base/memory.h"

namespace heed {

class PlainMemory final : public Memory {
 public:
  void* allocate(size_t num_bytes, Contents) const override { return std::calloc(1, num_bytes + 1); }
  void release(void* memory, size_t) const noexcept override { std::free(memory); }
  const char* device_name() const noexcept override { return "test:0"; }
};

inline std::shared_ptr<const Memory> plain_memory() { return std::make_shared<PlainMemory>(); }

}  // namespace heed
