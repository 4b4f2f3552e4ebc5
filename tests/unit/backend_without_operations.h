// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include "backends/cpu/cpu_backend.h"

namespace heed {

// The CPU as a device with memory of its own that computes no operation.
inline Backend backend_without_operations() {
  Backend backend = cpu_backend();
  backend.is_host = 0;
  backend.operations = 0;
  backend.plan = nullptr;
  backend.run = nullptr;
  backend.copy = [](BackendDevice*, void* destination, const void* source, size_t num_bytes, Direction, Failure*) {
    std::memcpy(destination, source, num_bytes);
    return Status::Ok;
  };
  backend.wait_idle = [](BackendDevice*) {};
  return backend;
}

}  // namespace heed
