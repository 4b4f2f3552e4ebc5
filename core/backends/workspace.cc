// SPDX-License-Identifier: Apache-2.0
#include "backends/workspace.h"

#include "base/error.h"

namespace heed {

std::shared_ptr<Workspace> Workspace::create(std::shared_ptr<const Memory> memory) {
  const HostAllocator allocator = memory->host_allocator();
  return host_make_shared<Workspace>(allocator, Key(), std::move(memory));
}

std::shared_ptr<Workspace> Workspace::create(std::shared_ptr<const Memory> memory, size_t num_bytes) {
  std::shared_ptr<Workspace> workspace = create(std::move(memory));
  workspace->data_ = workspace->memory_->allocate(num_bytes, Contents::Undefined);
  workspace->num_bytes_ = num_bytes;
  workspace->owned_ = true;
  return workspace;
}

std::shared_ptr<Workspace> Workspace::wrap(std::shared_ptr<const Memory> memory, void* data, size_t num_bytes) {
  if (data == nullptr && num_bytes > 0)
    fail(Status::InvalidArgument, "memory is " WORD("NULL") ", but num_bytes is %zu: expected memory of that size",
         num_bytes);
  std::shared_ptr<Workspace> workspace = create(std::move(memory));
  workspace->data_ = data;
  workspace->num_bytes_ = num_bytes;
  return workspace;
}

Workspace::~Workspace() {
  if (owned_) {
    memory_->release(data_, num_bytes_);
  } else {
    // After this the caller may free the memory.
    memory_->wait_idle();
  }
}

Workspace::Lease::Lease(Workspace& workspace, const char* name) : workspace_(workspace) {
  if (!workspace_.in_use_.try_lock())
    fail(Status::Busy, "%s is in use by another call, expected one for each call at a time", name);
}

Workspace::Lease::~Lease() { workspace_.in_use_.unlock(); }

}  // namespace heed
