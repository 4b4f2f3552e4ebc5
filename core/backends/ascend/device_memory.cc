// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/device_memory.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "backends/ascend/acl.h"

namespace heed::ascend {
namespace {

// block_size rounds the size up to kUnit and adds kSpare bytes, which kernels may read, as aclrtMalloc does.
constexpr size_t kUnit = 32;
constexpr size_t kSpare = 32;
constexpr size_t kSmallestBlock = 512;
// Larger sizes are not rounded, since that could overflow. No device has so much memory.
constexpr size_t kLargest = size_t{1} << 46;

}  // namespace

// Block sizes are powers of two and three sizes between each two of them, so a block is at most a quarter larger than
// needed.
size_t DeviceMemory::block_size(size_t num_bytes) {
  if (num_bytes > kLargest) return num_bytes;
  const size_t needed = (num_bytes + kUnit - 1) / kUnit * kUnit + kSpare;
  if (needed <= kSmallestBlock) return kSmallestBlock;
  const size_t step = std::max(std::bit_floor(needed - 1) / 4, kUnit);
  return (needed + step - 1) / step * step;
}

void* DeviceMemory::take_kept(size_t size) {
  const auto found = blocks_.find(size);
  if (found == blocks_.end() || found->second.kept.empty()) return nullptr;
  void* block = found->second.kept.back();
  found->second.kept.pop_back();
  return block;
}

void DeviceMemory::give(void* block, size_t num_bytes) noexcept {
  if (block != nullptr) blocks_.find(block_size(num_bytes))->second.kept.push_back(block);
}

void DeviceMemory::free_kept() noexcept {
  for (auto& [size, blocks] : blocks_) {
    // Freeing fails on a lost device. There is nothing to do about that, and nobody to tell.
    for (void* block : blocks.kept) static_cast<void>(aclrtFree(block));
    blocks.num_blocks -= blocks.kept.size();
    blocks.kept.clear();
  }
}

void* DeviceMemory::allocate(size_t size) {
  if (size > kLargest) return nullptr;
  Blocks& blocks = blocks_[size];
  blocks.kept.reserve(blocks.num_blocks + 1);
  void* block = nullptr;
  const aclError code = aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST);
  if (code == kOutOfDeviceMemory || code == kOutOfDeviceMemoryOnDevice) return nullptr;
  if (code != ACL_SUCCESS) fail_acl(code, "aclrtMalloc");
  ++blocks.num_blocks;
  return block;
}

void DeviceMemory::fail_full(size_t num_bytes) {
  char what[64];
  std::snprintf(what, sizeof what, "aclrtMalloc of %zu bytes", num_bytes);
  fail_device_full(kOutOfDeviceMemory, what);
}

}  // namespace heed::ascend
