// SPDX-License-Identifier: Apache-2.0
// Workspaces beside which no call may write.
#pragma once

#include <heed/heed.h>

#include <cstddef>
#include <memory>

#include "property/support/handles.h"
#include "support/guarded_memory.h"

namespace heed::property {

// Exactly num_bytes of host memory between two guards, which the destructor checks; on Ascend, memory of the device.
class GuardedWorkspace {
 public:
  GuardedWorkspace() = default;
  // The memory begins `offset` bytes after a multiple of 64.
  GuardedWorkspace(heed_context* context, size_t num_bytes, size_t offset = 0);
  GuardedWorkspace(GuardedWorkspace&&) = default;
  GuardedWorkspace& operator=(GuardedWorkspace&&) = default;
  ~GuardedWorkspace();

  heed_workspace* get() const { return workspace_.get(); }

 private:
  std::unique_ptr<GuardedMemory> memory_;
  Workspace workspace_;
};

}  // namespace heed::property
