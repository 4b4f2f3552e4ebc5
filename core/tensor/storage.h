// SPDX-License-Identifier: Apache-2.0
// The memory of tensors, shared by reference count between a tensor, its views and running calls.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/memory.h"

namespace heed {

class Storage {
  // Only this class can create a Key, so only the functions below create a Storage.
  class Key {
    friend class Storage;
    Key() = default;
  };

 public:
  using Release = void (*)(void* user, void* data);

  // Allocates num_bytes in `memory`, by default zero-filled.
  static std::shared_ptr<Storage> allocate(std::shared_ptr<const Memory> memory, size_t num_bytes,
                                           Contents contents = Contents::Zeros);

  // Uses the caller's bytes [begin, begin + num_bytes), which the caller still owns.
  static std::shared_ptr<Storage> wrap(std::shared_ptr<const Memory> memory, std::byte* begin, size_t num_bytes);

  // Makes the destructor call release(user, data). It is separate from wrap, so that the caller can take ownership as
  // its last step, after everything that can fail.
  void release_with(Release release, void* user, void* data) noexcept {
    release_ = release;
    user_ = user;
    data_ = data;
  }

  Storage(Key, std::shared_ptr<const Memory> memory) : memory_(std::move(memory)) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  // Null for a shape-only tensor.
  std::byte* begin() const { return begin_; }
  size_t num_bytes() const { return num_bytes_; }
  const std::shared_ptr<const Memory>& memory() const { return memory_; }

 private:
  static std::shared_ptr<Storage> create(std::shared_ptr<const Memory> memory);

  std::shared_ptr<const Memory> memory_;
  std::byte* begin_ = nullptr;
  size_t num_bytes_ = 0;
  bool owned_ = false;
  Release release_ = nullptr;
  void* user_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace heed
