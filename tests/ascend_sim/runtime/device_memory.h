// SPDX-License-Identifier: Apache-2.0
// The memory of the simulated devices.
//
// It has two mappings. Programs get addresses that allow no access, so that a host that reads or writes there faults at
// once. The bytes are in a hidden mapping, a constant offset away, which only the simulator knows.
//
//
// An allocation of n bytes has, from its start at a multiple of 64:
//   n bytes                       0xFF when fresh (a NaN in every floating type), and again when freed
//   up to ALIGN_UP(n, 32) + 32    spare bytes, which kernels may read; 0xFF
//   64 bytes                      a guard; 0xFD
// A change of the spare bytes or the guard is found at the next synchronisation, or when the memory is freed.
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
  // Includes spare bytes and guard.
  size_t block_bytes;
  int32_t device;
  // Uses by queued or running work.
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

  // Null if the device does not have that much left.
  void* allocate(size_t bytes, int32_t device);
  // False if no allocation begins there.
  bool free(void* device_address);
  // Takes capacity without an address, for what the driver and ATB need themselves.
  bool reserve(size_t bytes, int32_t device);
  void unreserve(size_t bytes, int32_t device);
  // Frees everything that was allocated on a device that has been reset.
  void drop(int32_t device);

  // Whether this is a device address, allocated or not.
  bool contains(const void* address) const;
  // The range; or nullopt, with a sentence that says what is wrong.
  std::optional<DeviceRange> find(const void* address, size_t bytes, std::string& problem);

  // Registers that work on a stream uses memory, from now until release.
  struct Use {
    DeviceRange range;
    bool writes;
    std::string task;
  };
  using UseHandle = std::list<Use>::iterator;
  UseHandle use(Use use);
  void release(UseHandle handle);
  // A queued or running task that conflicts with reading, or writing, the range now; empty if there is none.
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
  // Free blocks: offset to bytes. Adjacent blocks are merged.
  std::map<uint64_t, size_t> free_blocks_;
  uint64_t next_search_ = 0;
  size_t live_block_bytes_ = 0;
  std::map<int32_t, size_t> taken_bytes_;
  size_t requested_bytes_ = 0;
  std::list<Use> uses_;
};

// The only instance, never destroyed.
DeviceMemory& device_memory();

}  // namespace ascend_sim
