// SPDX-License-Identifier: Apache-2.0
// The faults that a test has asked for (ascend_sim/control.h lists them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ascend_sim {

// Calls that can be told to fail at the n-th time. The words are those of the list.
enum class Call {
  Malloc,
  MallocHost,
  Memcpy,
  Memset,
  CreateStream,
  Saturation,
  Kernel,
  CreateContext,
  CreateOperation,
  Setup,
  Execute,
  Throw,
};
inline constexpr size_t kNumCalls = static_cast<size_t>(Call::Throw) + 1;

// Counts this call; the code that it is to fail with, if it is.
std::optional<int> fault_of(Call call);

uint32_t device_count();
bool driver_is_missing();
// Bytes of a device.
size_t memory_capacity();
// Valid for ever.
const char* soc_name();

}  // namespace ascend_sim
