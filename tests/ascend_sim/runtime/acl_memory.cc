// SPDX-License-Identifier: Apache-2.0
// AscendCL's functions for memory.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/errors.h"
#include "runtime/faults.h"
#include "runtime/pinned_memory.h"
#include "runtime/report.h"
#include "runtime/runtime.h"

using namespace ascend_sim;

namespace {

// A copy whose pointers have been checked against its kind.
struct Copy {
  const char* counter = nullptr;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  size_t bytes = 0;
  // Set for a side that is on a device.
  std::optional<DeviceRange> to_device;
  std::optional<DeviceRange> from_device;
};

constexpr const char* kCounters[] = {"memcpy_h2h", "memcpy_h2d", "memcpy_d2h", "memcpy_d2d"};

// Checks that `pointer` is on the side (host or device) that the kind of copy states, and finds its range on the
// device.
aclError check_side(const char* function, const char* side, bool on_device, const void* pointer, size_t bytes,
                    std::optional<DeviceRange>& range) {
  const std::string begin = std::string(function) + ": " + side + " ";
  if (!on_device) {
    if (!device_memory().contains(pointer)) return ACL_SUCCESS;
    return fail(kInvalidValue, begin + "is an address of the device, but the kind of copy says the host");
  }
  std::string problem;
  range = device_memory().find(pointer, bytes, problem);
  return range ? ACL_SUCCESS : fail(kInvalidValue, begin + problem);
}

aclError check_copy(const char* function, void* dst, size_t dest_max, const void* src, size_t bytes,
                    aclrtMemcpyKind kind, Copy& copy) {
  if (dst == nullptr || src == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + (dst == nullptr ? ": dst" : ": src") + " is null");
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_DEFAULT)
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": kind is " + std::to_string(kind));
  if (bytes > dest_max)
    return fail(kInvalidValue, std::string(function) + ": count is " + std::to_string(bytes) + ", but destMax " +
                                   std::to_string(dest_max));
  bool to_device = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  bool from_device = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  if (kind == ACL_MEMCPY_DEFAULT) {
    to_device = device_memory().contains(dst);
    from_device = device_memory().contains(src);
  }
  if (const aclError code = check_side(function, "dst", to_device, dst, bytes, copy.to_device)) return code;
  if (const aclError code = check_side(function, "src", from_device, src, bytes, copy.from_device)) return code;
  copy.counter = kCounters[(to_device ? 1 : 0) + (from_device ? 2 : 0)];
  copy.to = copy.to_device ? copy.to_device->host : static_cast<std::byte*>(dst);
  copy.from = copy.from_device ? copy.from_device->host : static_cast<const std::byte*>(src);
  copy.bytes = bytes;
  if (copy.to < copy.from + bytes && copy.from < copy.to + bytes)
    report_violation(std::string(function) + ": source and destination overlap");
  return ACL_SUCCESS;
}

// Reports a synchronous call that touches memory of queued work: it does not wait for streams, so the caller should
// have synchronised.
void report_race(const char* function, const std::optional<DeviceRange>& range, bool writes) {
  if (!range) return;
  const std::string task = device_memory().conflicting_task(*range, writes);
  if (task.empty()) return;
  report_violation(std::string(function) + (writes ? " writes " : " reads ") +
                   text_of_memory(range->device, range->bytes) + " while " + task +
                   ", which uses them, is queued or running: synchronise first");
}

// A checksum of page-locked memory at the time of the call, to find a host that changes the memory before it is copied.
uint64_t checksum(const std::byte* bytes, size_t num_bytes) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes), num_bytes});
}

void add_use(Task& task, const std::optional<DeviceRange>& range, bool writes) {
  if (range) task.uses.push_back(device_memory().use({*range, writes, task.name}));
}

aclError memcpy_fault(const char* function) {
  const auto code = fault_of(Call::Memcpy);
  return code ? fail(*code, std::string(function) + ": a fault that the test asked for") : ACL_SUCCESS;
}

// aclrtMemsetAsync sets at most this many bytes of host memory, copies them to the device, and repeats the copy there.
constexpr size_t kMemsetBlock = size_t{64} << 20;

bool is_misaligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % 64 != 0; }

}  // namespace

aclError aclrtMalloc(void** dev_ptr, size_t size, aclrtMemMallocPolicy policy) {
  if (dev_ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMalloc: devPtr is null");
  if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMalloc: size is 0");
  if (policy < ACL_MEM_MALLOC_HUGE_FIRST || policy > ACL_MEM_MALLOC_HUGE1G_ONLY)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMalloc: policy is " + std::to_string(policy));
  const Caller caller = ascend_sim::caller("aclrtMalloc");
  if (caller.code != ACL_SUCCESS) return caller.code;
  if (const auto code = fault_of(Call::Malloc)) return fail(*code, "aclrtMalloc: a fault that the test asked for");
  void* const address = device_memory().allocate(size, caller.context->device->id);
  if (address == nullptr)
    return fail(kOutOfDeviceMemory, "aclrtMalloc: the device has no " + std::to_string(size) + " bytes left");
  *dev_ptr = address;
  count("malloc");
  return ACL_SUCCESS;
}

aclError aclrtFree(void* dev_ptr) {
  if (dev_ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtFree: devPtr is null");
  const Caller caller = ascend_sim::caller("aclrtFree", Manner::Releases);
  if (caller.code != ACL_SUCCESS) return caller.code;
  if (!device_memory().free(dev_ptr))
    return fail(kInvalidValue, "aclrtFree: devPtr is not the start of an allocation, or no longer");
  count("free");
  return caller.context->device->lost();
}

aclError aclrtMallocHost(void** host_ptr, size_t size) {
  if (host_ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocHost: hostPtr is null");
  if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocHost: size is 0");
  const Caller caller = ascend_sim::caller("aclrtMallocHost");
  if (caller.code != ACL_SUCCESS) return caller.code;
  if (const auto code = fault_of(Call::MallocHost))
    return fail(*code, "aclrtMallocHost: a fault that the test asked for");
  void* const address = pinned_memory().allocate(size);
  if (address == nullptr) return fail(kOutOfDeviceMemory, "aclrtMallocHost: the host has no memory left");
  *host_ptr = address;
  return ACL_SUCCESS;
}

aclError aclrtFreeHost(void* host_ptr) {
  if (host_ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtFreeHost: hostPtr is null");
  const Caller caller = ascend_sim::caller("aclrtFreeHost", Manner::Releases);
  if (caller.code != ACL_SUCCESS) return caller.code;
  if (!pinned_memory().free(host_ptr))
    return fail(kInvalidValue, "aclrtFreeHost: hostPtr is not the start of an allocation, or no longer");
  return caller.context->device->lost();
}

aclError aclrtMemcpy(void* dst, size_t dest_max, const void* src, size_t bytes, aclrtMemcpyKind kind) {
  const char* const function = "aclrtMemcpy";
  const Caller caller = ascend_sim::caller(function, Manner::Meets);
  if (caller.code != ACL_SUCCESS) return caller.code;
  if (const aclError code = memcpy_fault(function)) return code;
  if (bytes == 0) return ACL_SUCCESS;
  Copy copy;
  if (const aclError code = check_copy(function, dst, dest_max, src, bytes, kind, copy)) return code;
  report_race(function, copy.to_device, true);
  report_race(function, copy.from_device, false);
  std::memmove(copy.to, copy.from, bytes);
  count(copy.counter);
  return ACL_SUCCESS;
}

aclError aclrtMemcpyAsync(void* dst, size_t dest_max, const void* src, size_t bytes, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  const char* const function = "aclrtMemcpyAsync";
  const Caller caller = ascend_sim::caller(function, Manner::Meets);
  if (caller.code != ACL_SUCCESS) return caller.code;
  StreamObject found;
  if (const aclError code = find_stream(function, caller, stream, found)) return code;
  if (const aclError code = memcpy_fault(function)) return code;
  if (bytes == 0) return ACL_SUCCESS;
  Copy copy;
  if (const aclError code = check_copy(function, dst, dest_max, src, bytes, kind, copy)) return code;
  if (!copy.to_device && !copy.from_device)
    return fail(kUnsupported, std::string(function) + ": both sides are the host's, which only aclrtMemcpy copies");
  if (copy.to_device && copy.from_device && (is_misaligned(dst) || is_misaligned(src)))
    return fail(kUnaligned, std::string(function) + ": within the device both addresses are to be aligned to 64 bytes");

  Task task;
  task.name = std::string(function) + " of " + std::to_string(bytes) + " bytes";
  add_use(task, copy.to_device, true);
  add_use(task, copy.from_device, false);
  const void* const host = !copy.to_device ? dst : !copy.from_device ? src : nullptr;
  const bool is_pinned = host != nullptr && pinned_memory().use(host, bytes, task.name);
  const bool is_checked = is_pinned && host == src;
  const uint64_t sum = is_checked ? checksum(copy.from, bytes) : 0;
  task.run = [copy, is_checked, sum, name = task.name] {
    if (is_checked && checksum(copy.from, copy.bytes) != sum)
      report_violation("the host changed the source of " + name + " before it was copied: synchronise first");
    std::memmove(copy.to, copy.from, copy.bytes);
    return ACL_SUCCESS;
  };
  if (is_pinned) task.done = [host] { pinned_memory().release(host); };
  found.stream->submit(std::move(task));
  count(copy.counter);
  // The caller may free pageable memory after the call, so the copy must be done.
  if (host == nullptr || is_pinned) return ACL_SUCCESS;
  found.stream->wait();
  return caller.context->device->meet();
}

aclError aclrtMemset(void* dev_ptr, size_t max_count, int32_t value, size_t bytes) {
  const char* const function = "aclrtMemset";
  const Caller caller = ascend_sim::caller(function, Manner::Meets);
  if (caller.code != ACL_SUCCESS) return caller.code;
  if (const aclError code = memcpy_fault(function)) return code;
  if (bytes == 0) return ACL_SUCCESS;
  if (dev_ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": devPtr is null");
  if (bytes > max_count) return fail(kInvalidValue, std::string(function) + ": count is above maxCount");
  std::optional<DeviceRange> range;
  if (const aclError code = check_side(function, "devPtr", true, dev_ptr, bytes, range)) return code;
  report_race(function, range, true);
  std::memset(range->host, value, bytes);
  count("memset");
  return ACL_SUCCESS;
}

aclError aclrtMemsetAsync(void* dev_ptr, size_t max_count, int32_t value, size_t bytes, aclrtStream stream) {
  const char* const function = "aclrtMemsetAsync";
  const Caller caller = ascend_sim::caller(function, Manner::Meets);
  if (caller.code != ACL_SUCCESS) return caller.code;
  StreamObject found;
  if (const aclError code = find_stream(function, caller, stream, found)) return code;
  if (const aclError code = memcpy_fault(function)) return code;
  if (bytes == 0) return ACL_SUCCESS;
  if (dev_ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": devPtr is null");
  if (bytes > max_count) return fail(kInvalidValue, std::string(function) + ": count is above maxCount");
  std::optional<DeviceRange> range;
  if (const aclError code = check_side(function, "devPtr", true, dev_ptr, bytes, range)) return code;
  const size_t host_bytes = std::min(bytes, kMemsetBlock);
  if (const auto code = fault_of(Call::Memset))
    return fail(*code, std::string(function) + ": the host has no " + std::to_string(host_bytes) + " bytes left");
  Task task;
  task.name = std::string(function) + " of " + std::to_string(bytes) + " bytes";
  add_use(task, range, true);
  task.run = [host = range->host, value, bytes] {
    std::memset(host, value, bytes);
    return ACL_SUCCESS;
  };
  found.stream->submit(std::move(task));
  count("memset");
  count("memset_host_bytes", host_bytes);
  count("memcpy_h2d");
  count("memcpy_d2d", (bytes - 1) / kMemsetBlock);
  return ACL_SUCCESS;
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  if (free == nullptr || total == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetMemInfo: free or total is null");
  const Caller caller = ascend_sim::caller("aclrtGetMemInfo");
  if (caller.code != ACL_SUCCESS) return caller.code;
  // Each simulated chip has one kind of memory: DDR on 310P, HBM on the others.
  const bool is_ddr = attr == ACL_DDR_MEM || attr == ACL_DDR_MEM_HUGE || attr == ACL_DDR_MEM_NORMAL;
  const bool has_ddr = std::string_view(soc_name()).find("310P") != std::string_view::npos;
  *free = 0;
  *total = 0;
  if (is_ddr == has_ddr) device_memory().free_and_total(caller.context->device->id, *free, *total);
  return ACL_SUCCESS;
}
