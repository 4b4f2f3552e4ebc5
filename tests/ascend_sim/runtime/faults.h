// SPDX-License-Identifier: Apache-2.0
// The faults that a test has set (ascend_sim/control.h lists them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ascend_sim {

// Calls that can be set to fail at the n-th time, named by the words of the list.
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

// Counts this call. Returns the code that it must fail with, if it must fail.
std::optional<int> fault_of(Call call);

uint32_t device_count();
bool driver_is_missing();
// A device's capacity in bytes.
size_t memory_capacity();
// Never freed.
const char* soc_name();

}  // namespace ascend_sim
