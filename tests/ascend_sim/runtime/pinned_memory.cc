// SPDX-License-Identifier: Apache-2.0
#include "runtime/pinned_memory.h"

#include <cstdlib>
#include <cstring>

#include "runtime/report.h"

namespace ascend_sim {
namespace {

constexpr size_t kPinnedAlignment = 64;

}  // namespace

void* PinnedMemory::allocate(size_t bytes) {
  if (bytes > SIZE_MAX - kPinnedAlignment) return nullptr;
  void* const address =
      std::aligned_alloc(kPinnedAlignment, (bytes + kPinnedAlignment - 1) / kPinnedAlignment * kPinnedAlignment);
  if (address == nullptr) return nullptr;
  std::memset(address, 0xFF, bytes);
  const std::lock_guard lock(mutex_);
  blocks_[reinterpret_cast<uintptr_t>(address)].bytes = bytes;
  return address;
}

std::map<uintptr_t, PinnedMemory::Block>::iterator PinnedMemory::find(const void* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  auto found = blocks_.upper_bound(number);
  if (found == blocks_.begin()) return blocks_.end();
  --found;
  return number - found->first < found->second.bytes ? found : blocks_.end();
}

bool PinnedMemory::free(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<uintptr_t>(address));
  if (found == blocks_.end() || found->second.is_freed) return false;
  if (found->second.num_uses > 0) {
    report_violation("aclrtFreeHost of " + text_of_memory(address, found->second.bytes) + " while " +
                     found->second.task + " of it is queued or running: synchronise first");
    found->second.is_freed = true;
    return true;
  }
  blocks_.erase(found);
  std::free(address);
  return true;
}

bool PinnedMemory::use(const void* address, size_t bytes, const std::string& task) {
  const std::lock_guard lock(mutex_);
  const auto found = find(address);
  if (found == blocks_.end() || found->second.is_freed) return false;
  if (bytes > found->second.bytes - (reinterpret_cast<uintptr_t>(address) - found->first)) return false;
  ++found->second.num_uses;
  found->second.task = task;
  return true;
}

void PinnedMemory::release(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = find(address);
  if (--found->second.num_uses > 0 || !found->second.is_freed) return;
  std::free(reinterpret_cast<void*>(found->first));
  blocks_.erase(found);
}

std::vector<std::string> PinnedMemory::leaks() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [address, block] : blocks_) {
    if (!block.is_freed)
      lines.push_back("host memory: " + text_of_memory(reinterpret_cast<const void*>(address), block.bytes));
  }
  return lines;
}

PinnedMemory& pinned_memory() {
  static PinnedMemory& memory = *new PinnedMemory;
  return memory;
}

}  // namespace ascend_sim
