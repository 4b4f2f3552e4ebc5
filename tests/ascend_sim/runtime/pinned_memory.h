// SPDX-License-Identifier: Apache-2.0
// Page-locked host memory, the only host memory for which copies are asynchronous.
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
  // False if no allocation begins there.
  bool free(void* address);
  // Marks the allocation that contains the range as used by `task`, until release of the same address. False if no
  // allocation contains it.
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

// The only instance, never destroyed.
PinnedMemory& pinned_memory();

}  // namespace ascend_sim
