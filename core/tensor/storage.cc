// SPDX-License-Identifier: Apache-2.0
#include "tensor/storage.h"

namespace heed {

std::shared_ptr<Storage> Storage::create(std::shared_ptr<const Memory> memory) {
  const HostAllocator allocator = memory->host_allocator();
  return host_make_shared<Storage>(allocator, Key(), std::move(memory));
}

std::shared_ptr<Storage> Storage::allocate(std::shared_ptr<const Memory> memory, size_t num_bytes, Contents contents) {
  // The owning object is created before the bytes are allocated, so that a failure in between cannot leak them.
  std::shared_ptr<Storage> storage = create(std::move(memory));
  storage->begin_ = static_cast<std::byte*>(storage->memory_->allocate(num_bytes, contents));
  storage->num_bytes_ = num_bytes;
  storage->owned_ = true;
  return storage;
}

std::shared_ptr<Storage> Storage::wrap(std::shared_ptr<const Memory> memory, std::byte* begin, size_t num_bytes) {
  std::shared_ptr<Storage> storage = create(std::move(memory));
  storage->begin_ = begin;
  storage->num_bytes_ = num_bytes;
  return storage;
}

Storage::~Storage() {
  if (owned_) memory_->release(begin_, num_bytes_);
  if (release_ != nullptr) {
    memory_->wait_idle();
    release_(user_, data_);
  }
}

}  // namespace heed
