// SPDX-License-Identifier: Apache-2.0
// The packed form of a weight that is made when it is first asked for.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "base/host_allocator.h"
#include "tensor/storage.h"

namespace heed {

// Without a lock, which a forked child could inherit from a thread that it does not have: two threads that ask at once may both
// make it, and one of the two is kept.
class LazyPacking {
 public:
  explicit LazyPacking(const HostAllocator& allocator) : allocator_(allocator) {}
  LazyPacking(const LazyPacking&) = delete;
  LazyPacking& operator=(const LazyPacking&) = delete;
  ~LazyPacking() { clear(); }

  // The memory of what `make` has returned once, a std::shared_ptr<const Storage>. Throws what it throws.
  template <typename Make>
  const void* get_or_make(const Make& make) const {
    Made* made = made_.load(std::memory_order_acquire);
    if (made == nullptr) {
      auto* const mine = host_create<Made>(allocator_, make());
      if (made_.compare_exchange_strong(made, mine, std::memory_order_acq_rel)) {
        made = mine;
      } else {
        host_destroy(allocator_, mine);
      }
    }
    return made->storage->begin();
  }
  // The memory, if it has been made; otherwise null.
  void* get() const {
    const Made* const made = made_.load(std::memory_order_acquire);
    return made == nullptr ? nullptr : made->storage->begin();
  }
  // Not while a call uses it.
  void clear() {
    Made* const made = made_.exchange(nullptr, std::memory_order_acq_rel);
    if (made != nullptr) host_destroy(allocator_, made);
  }

 private:
  struct Made {
    std::shared_ptr<const Storage> storage;
  };

  HostAllocator allocator_;
  mutable std::atomic<Made*> made_ = nullptr;
};

}  // namespace heed
