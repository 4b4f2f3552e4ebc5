// SPDX-License-Identifier: Apache-2.0
// The pool of runners that a context has for some operations. A runner keeps a pointer into the cache of kernels of the
// thread of its first Setup. The end of an operation puts its runner back into the pool; the first Setup of the next
// operation takes it out, with that pointer. So that operation must be set up in the same thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace ascend_sim::atb_library {

class RunnerPool {
 public:
  static constexpr size_t kNoRunner = SIZE_MAX;

  // Takes the first free runner for this thread. Returns its index, and in `before` the number of the thread that it
  // belongs to, or 0 if it is new. kNoRunner if all are taken: the operation then gets a runner of its own.
  size_t take(uint64_t thread, uint64_t& before) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < kNumRunners; ++i) {
      if (runners_[i].is_taken) continue;
      before = runners_[i].thread;
      if (before == 0) runners_[i].thread = thread;
      runners_[i].is_taken = true;
      return i;
    }
    before = 0;
    return kNoRunner;
  }

  void give_back(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (index != kNoRunner) runners_[index].is_taken = false;
  }

 private:
  static constexpr size_t kNumRunners = 64;
  struct Runner {
    uint64_t thread = 0;
    bool is_taken = false;
  };
  std::mutex mutex_;
  Runner runners_[kNumRunners];
};

}  // namespace ascend_sim::atb_library
