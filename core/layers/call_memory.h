// SPDX-License-Identifier: Apache-2.0
// The memory that a call of a layer computes in.
#pragma once

#include <algorithm>
#include <cstddef>

#include "backends/call_arena.h"
#include "backends/context.h"
#include "backends/workspace.h"
#include "base/error.h"
#include "layers/masked_inputs.h"
#include "layers/schedule.h"
#include "tensor/device.h"

namespace heed {

// The bytes that suffice whatever the call's masks hide: the most of those that bytes_of(schedule, holes) returns.
template <typename BytesOf>
size_t most_bytes(const Context& context, const LayerInputs& inputs, const BytesOf& bytes_of) {
  size_t most = 0;
  for (const MaskHoles& holes : each_holes(inputs)) {
    CallArena arena(context);
    Schedule schedule(arena);
    most = std::max(most, bytes_of(schedule, holes));
  }
  return most;
}

struct CallMemory {
  size_t num_bytes = 0;         // that a workspace must have
  size_t num_pooled_bytes = 0;  // that the context lends
  const char* size_function;    // which returns num_bytes, for messages
};

// Calls `run` with memory of `workspace` after `check_memory`, or with memory of the context if there is no workspace.
template <typename CheckMemory, typename Run>
void run_in(const Context& context, Workspace* workspace, const CallMemory& memory, const CheckMemory& check_memory,
            const Run& run) {
  if (workspace == nullptr) {
    const Context::PooledScratch scratch(context, memory.num_pooled_bytes);
    run(scratch.data());
    return;
  }
  check_same_device("workspace", workspace->memory().device_name(), "the " WORD("layer"), context.device_name());
  const Workspace::Lease lease(*workspace);
  if (workspace->num_bytes() < memory.num_bytes) {
    fail(Status::WorkspaceTooSmall, "workspace has %zu bytes, but this call needs %zu: see %s", workspace->num_bytes(),
         memory.num_bytes, memory.size_function);
  }
  check_memory(workspace->data(), workspace->num_bytes());
  run(workspace->data());
}

}  // namespace heed
