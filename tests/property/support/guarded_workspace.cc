// SPDX-License-Identifier: Apache-2.0
#include "property/support/guarded_workspace.h"

#include <gtest/gtest.h>

#include "property/support/device.h"

namespace heed::property {

GuardedWorkspace::GuardedWorkspace(heed_context* context, size_t num_bytes, size_t offset) {
  heed_workspace* workspace = nullptr;
  if (on_ascend()) {
    check(heed_workspace_create(context, num_bytes, &workspace));
  } else {
    memory_ = std::make_unique<GuardedMemory>(num_bytes, offset);
    check(heed_workspace_wrap(context, memory_->data(), num_bytes, &workspace));
  }
  workspace_.reset(workspace);
}

GuardedWorkspace::~GuardedWorkspace() {
  if (memory_ == nullptr) return;
  EXPECT_TRUE(memory_->is_intact());
}

}  // namespace heed::property
