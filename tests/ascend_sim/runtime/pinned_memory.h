// SPDX-License-Identifier: Apache-2.0
// Page-locked memory of the host: the only memory of the host from and to which copies are asynchronous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ascend_sim {

class PinnedMemory {
 public:
  void* allocate(size_t bytes);
  // False where no allocation begins.
  bool free(void* address);
  // Marks the allocation that holds the range as used by `task` until release of the same address; false where none does.
  bool use(const void* address, size_t bytes, const std::string& task);
  void release(const void* address);
  std::vector<std::string> leaks();

 private:
  struct Block {
    size_t bytes = 0;
    int num_uses = 0;
    bool is_freed = false;
    std::string task;
  };
  std::map<uintptr_t, Block>::iterator find(const void* address);

  std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;
};

// The only one, never destroyed.
PinnedMemory& pinned_memory();

}  // namespace ascend_sim
