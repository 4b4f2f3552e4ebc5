// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ascend_sim/control.h"
#include "runtime/faults.h"
#include "runtime/report.h"

namespace ascend_sim {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSpareBytes = 32;
constexpr size_t kGuardBytes = 64;
constexpr int kPoison = 0xFF;
constexpr int kGuard = 0xFD;
// The region is much larger than the capacity: addresses cost nothing, and a freed address that is not reused soon
// exposes code that still uses it.
constexpr size_t kRegionBytes = size_t{64} << 30;
constexpr size_t kMinRegionBytes = size_t{64} << 20;
// After this many bytes the search for free addresses starts over, which limits the pages that are ever touched.
constexpr size_t kMinRotationBytes = size_t{64} << 20;

size_t aligned(size_t bytes, size_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

// The part of the device's capacity that an allocation takes.
size_t capacity_bytes(size_t bytes) { return aligned(bytes, 32) + kSpareBytes; }

// Uses the system call directly: the mmap of the sanitizers would visit each page of this large address range.
std::byte* map(size_t bytes, int protection) {
  const long address =
      syscall(SYS_mmap, nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  return address == -1 ? nullptr : reinterpret_cast<std::byte*>(address);
}

bool is_filled_with(const std::byte* bytes, size_t num_bytes, int value) {
  return std::all_of(bytes, bytes + num_bytes, [value](std::byte b) { return b == static_cast<std::byte>(value); });
}

bool overlap(const DeviceRange& a, const DeviceRange& b) {
  return a.host < b.host + b.bytes && b.host < a.host + a.bytes;
}

}  // namespace

DeviceMemory::DeviceMemory() {
  for (region_bytes_ = kRegionBytes; region_bytes_ >= kMinRegionBytes; region_bytes_ /= 2) {
    visible_ = map(region_bytes_, PROT_NONE);
    hidden_ = map(region_bytes_, PROT_READ | PROT_WRITE);
    if (visible_ != nullptr && hidden_ != nullptr) break;
    if (visible_ != nullptr) munmap(visible_, region_bytes_);
    if (hidden_ != nullptr) munmap(hidden_, region_bytes_);
  }
  if (region_bytes_ < kMinRegionBytes) {
    std::fputs("ascend_sim: the system does not grant the address space of a device\n", stderr);
    std::abort();
  }
  free_blocks_[0] = region_bytes_;
}

bool DeviceMemory::contains(const void* address) const {
  const auto* const byte = static_cast<const std::byte*>(address);
  return byte >= visible_ && byte < visible_ + region_bytes_;
}

size_t DeviceMemory::taken(int32_t device) const {
  const auto found = taken_bytes_.find(device);
  return found == taken_bytes_.end() ? 0 : found->second;
}

std::optional<uint64_t> DeviceMemory::take_block(size_t bytes) {
  if (next_search_ > std::max(kMinRotationBytes, 2 * live_block_bytes_)) next_search_ = 0;
  auto found = free_blocks_.lower_bound(next_search_);
  const auto is_large_enough = [bytes](const auto& block) { return block.second >= bytes; };
  found = std::find_if(found, free_blocks_.end(), is_large_enough);
  if (found == free_blocks_.end()) found = std::find_if(free_blocks_.begin(), found, is_large_enough);
  if (found == free_blocks_.end()) return std::nullopt;
  const auto [offset, free_bytes] = *found;
  free_blocks_.erase(found);
  if (free_bytes > bytes) free_blocks_[offset + bytes] = free_bytes - bytes;
  next_search_ = offset + bytes;
  return offset;
}

void DeviceMemory::give_block(uint64_t offset, size_t bytes) {
  auto block = free_blocks_.emplace(offset, bytes).first;
  const auto next = std::next(block);
  if (next != free_blocks_.end() && block->first + block->second == next->first) {
    block->second += next->second;
    free_blocks_.erase(next);
  }
  if (block != free_blocks_.begin()) {
    const auto previous = std::prev(block);
    if (previous->first + previous->second == block->first) {
      previous->second += block->second;
      free_blocks_.erase(block);
    }
  }
}

void* DeviceMemory::allocate(size_t bytes, int32_t device) {
  const size_t capacity = memory_capacity();
  const std::lock_guard lock(mutex_);
  if (bytes > capacity || capacity_bytes(bytes) > capacity - std::min(capacity, taken(device))) return nullptr;
  const size_t block_bytes = aligned(capacity_bytes(bytes) + kGuardBytes, kAlignment);
  const std::optional<uint64_t> offset = take_block(block_bytes);
  if (!offset) return nullptr;
  std::memset(hidden(*offset), kPoison, capacity_bytes(bytes));
  std::memset(hidden(*offset) + capacity_bytes(bytes), kGuard, kGuardBytes);
  auto allocation = std::make_shared<Allocation>();
  allocation->offset = *offset;
  allocation->bytes = bytes;
  allocation->block_bytes = block_bytes;
  allocation->device = device;
  live_[*offset] = std::move(allocation);
  live_block_bytes_ += block_bytes;
  taken_bytes_[device] += capacity_bytes(bytes);
  requested_bytes_ += bytes;
  return visible(*offset);
}

void DeviceMemory::check_guard(Allocation& allocation) {
  if (allocation.is_guard_reported) return;
  const std::byte* const end = hidden(allocation.offset) + allocation.bytes;
  const size_t spare_bytes = capacity_bytes(allocation.bytes) - allocation.bytes;
  if (is_filled_with(end, spare_bytes, kPoison) && is_filled_with(end + spare_bytes, kGuardBytes, kGuard)) return;
  allocation.is_guard_reported = true;
  report_violation("something wrote past the end of the allocation of " +
                   text_of_memory(visible(allocation.offset), allocation.bytes));
}

void DeviceMemory::check_guards() {
  const std::lock_guard lock(mutex_);
  for (const auto& [offset, allocation] : live_) check_guard(*allocation);
}

// Releases the allocation's addresses for later allocations.
void DeviceMemory::retire(Allocation& allocation) {
  std::memset(hidden(allocation.offset), kPoison, allocation.bytes);
  give_block(allocation.offset, allocation.block_bytes);
  live_block_bytes_ -= allocation.block_bytes;
  taken_bytes_[allocation.device] -= capacity_bytes(allocation.bytes);
  requested_bytes_ -= allocation.bytes;
}

bool DeviceMemory::free(void* device_address) {
  if (!contains(device_address)) return false;
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(static_cast<uint64_t>(static_cast<std::byte*>(device_address) - visible_));
  if (found == live_.end()) return false;
  const std::shared_ptr<Allocation> allocation = found->second;
  live_.erase(found);
  check_guard(*allocation);
  allocation->is_freed = true;
  if (allocation->num_uses == 0) {
    retire(*allocation);
    return true;
  }
  // Queued work still uses the memory. After the report it may finish; the memory is released with the last use.
  std::string task;
  for (const Use& use : uses_) {
    if (use.range.allocation == allocation) task = use.task;
  }
  report_violation("aclrtFree of " + text_of_memory(device_address, allocation->bytes) + " while " + task +
                   ", which uses it, is queued or running: synchronise first");
  return true;
}

bool DeviceMemory::reserve(size_t bytes, int32_t device) {
  const size_t capacity = memory_capacity();
  const std::lock_guard lock(mutex_);
  if (bytes > capacity - std::min(capacity, taken(device))) return false;
  taken_bytes_[device] += bytes;
  return true;
}

void DeviceMemory::unreserve(size_t bytes, int32_t device) {
  const std::lock_guard lock(mutex_);
  taken_bytes_[device] -= bytes;
}

void DeviceMemory::drop(int32_t device) {
  const std::lock_guard lock(mutex_);
  for (auto next = live_.begin(); next != live_.end();) {
    const std::shared_ptr<Allocation> allocation = next->second;
    if (allocation->device != device) {
      ++next;
      continue;
    }
    next = live_.erase(next);
    allocation->is_freed = true;
    if (allocation->num_uses == 0) retire(*allocation);
  }
}

std::optional<DeviceRange> DeviceMemory::find(const void* address, size_t bytes, std::string& problem) {
  if (!contains(address)) {
    problem = "is an address of the host";
    return std::nullopt;
  }
  const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(address) - visible_);
  const std::lock_guard lock(mutex_);
  auto found = live_.upper_bound(offset);
  if (found != live_.begin()) {
    --found;
    const Allocation& allocation = *found->second;
    const uint64_t start = offset - allocation.offset;
    if (start < allocation.bytes) {
      if (bytes <= allocation.bytes - start) return DeviceRange{found->second, hidden(offset), address, bytes};
      problem = "has " + std::to_string(allocation.bytes - start) + " bytes left in its allocation, but " +
                std::to_string(bytes) + " are wanted";
      return std::nullopt;
    }
  }
  problem = "is an address of the device that is not allocated";
  return std::nullopt;
}

DeviceMemory::UseHandle DeviceMemory::use(Use use) {
  const std::lock_guard lock(mutex_);
  ++use.range.allocation->num_uses;
  return uses_.insert(uses_.end(), std::move(use));
}

void DeviceMemory::release(UseHandle handle) {
  const std::lock_guard lock(mutex_);
  Allocation& allocation = *handle->range.allocation;
  if (--allocation.num_uses == 0 && allocation.is_freed) retire(allocation);
  uses_.erase(handle);
}

std::string DeviceMemory::conflicting_task(const DeviceRange& range, bool writes) {
  const std::lock_guard lock(mutex_);
  for (const Use& use : uses_) {
    if ((writes || use.writes) && use.range.allocation == range.allocation && overlap(use.range, range))
      return use.task;
  }
  return {};
}

size_t DeviceMemory::requested_bytes() {
  const std::lock_guard lock(mutex_);
  return requested_bytes_;
}

void DeviceMemory::free_and_total(int32_t device, size_t& free_bytes, size_t& total_bytes) {
  total_bytes = memory_capacity();
  const std::lock_guard lock(mutex_);
  free_bytes = total_bytes - std::min(total_bytes, taken(device));
}

std::vector<std::string> DeviceMemory::leaks() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [offset, allocation] : live_)
    lines.push_back("device memory: " + text_of_memory(visible(offset), allocation->bytes));
  return lines;
}

const void* DeviceMemory::host_address(const void* address) {
  std::string problem;
  const std::optional<DeviceRange> range = find(address, 0, problem);
  return range ? range->host : nullptr;
}

DeviceMemory& device_memory() {
  static DeviceMemory& memory = *new DeviceMemory;
  return memory;
}

}  // namespace ascend_sim

const void* ascend_sim_host_address(const void* device) { return ascend_sim::device_memory().host_address(device); }
