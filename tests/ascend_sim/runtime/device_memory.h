// SPDX-License-Identifier: Apache-2.0
// The memory of the simulated devices.
//
// It is mapped twice: at the addresses that programs get, without any right to touch them, so that a host that reads or
// writes there faults at once; and at a hidden place, a constant away, where the bytes are. Only the simulator knows the
// constant.
//
// An allocation of n bytes has, from its start at a multiple of 64:
//   n bytes                       0xFF when fresh (a NaN in every floating type), and again when freed
//   up to ALIGN_UP(n, 32) + 32    spare bytes, which kernels may read; 0xFF
//   64 bytes                      a guard; 0xFD
// Whoever changes the spare bytes or the guard is found at the next synchronisation, or when the memory is freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ascend_sim {

struct Allocation {
  uint64_t offset;
  size_t bytes;
  // With spare bytes and guard.
  size_t block_bytes;
  int32_t device;
  // Bytes of queued or running work that refer to it.
  int num_uses = 0;
  bool is_freed = false;
  bool is_guard_reported = false;
};

// A part of one live allocation.
struct DeviceRange {
  std::shared_ptr<Allocation> allocation;
  std::byte* host = nullptr;
  const void* device = nullptr;
  size_t bytes = 0;
};

class DeviceMemory {
 public:
  DeviceMemory();

  // Null when the device has not that much left.
  void* allocate(size_t bytes, int32_t device);
  // False where no allocation begins.
  bool free(void* device_address);
  // Capacity that is taken without an address: what the driver and ATB need for themselves.
  bool reserve(size_t bytes, int32_t device);
  void unreserve(size_t bytes, int32_t device);
  // All that was allocated on a device, which has been reset.
  void drop(int32_t device);

  // Whether this is an address of a device, allocated or not.
  bool contains(const void* address) const;
  // The range, or a sentence on what is wrong with it.
  std::optional<DeviceRange> find(const void* address, size_t bytes, std::string& problem);

  // Work that is queued on a stream and uses memory, from now until release.
  struct Use {
    DeviceRange range;
    bool writes;
    std::string task;
  };
  using UseHandle = std::list<Use>::iterator;
  UseHandle use(Use use);
  void release(UseHandle handle);
  // The task that is queued or running and conflicts with reading, or with writing, the range now; or empty.
  std::string conflicting_task(const DeviceRange& range, bool writes);

  void check_guards();

  size_t requested_bytes();
  void free_and_total(int32_t device, size_t& free_bytes, size_t& total_bytes);
  std::vector<std::string> leaks();
  const void* host_address(const void* address);

 private:
  std::byte* hidden(uint64_t offset) const { return hidden_ + offset; }
  void* visible(uint64_t offset) const { return visible_ + offset; }
  std::optional<uint64_t> take_block(size_t bytes);
  void give_block(uint64_t offset, size_t bytes);
  void check_guard(Allocation& allocation);
  void retire(Allocation& allocation);
  size_t taken(int32_t device) const;

  std::byte* visible_ = nullptr;
  std::byte* hidden_ = nullptr;
  size_t region_bytes_ = 0;

  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Allocation>> live_;
  // Offset to bytes; neighbours are merged.
  std::map<uint64_t, size_t> free_blocks_;
  uint64_t next_search_ = 0;
  size_t live_block_bytes_ = 0;
  std::map<int32_t, size_t> taken_bytes_;
  size_t requested_bytes_ = 0;
  std::list<Use> uses_;
};

// The only one, never destroyed.
DeviceMemory& device_memory();

}  // namespace ascend_sim
