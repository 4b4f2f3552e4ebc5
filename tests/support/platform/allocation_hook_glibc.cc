// SPDX-License-Identifier: Apache-2.0
// For glibc, whose own allocator is available under other names. operator new also calls these functions. Memory that
// glibc maps for itself, such as the stacks of threads, is not counted.
#include "support/platform/allocation_hook.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(size_t num_bytes);
void* __libc_calloc(size_t count, size_t num_bytes);
void* __libc_realloc(void* memory, size_t num_bytes);
void* __libc_memalign(size_t alignment, size_t num_bytes);
void __libc_free(void* memory);
}

namespace heed {
namespace {

std::atomic<int64_t> allocations{0};
std::atomic<int64_t> live_blocks{0};
std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> most_bytes{0};

// The state of one thread. Initialized by constants, so that a new thread allocates nothing for it.
struct Hook {
  int64_t num_allocations = 0;
  int64_t until_failure = 0;  // 0: none
  bool later_too = false;
  bool happened = false;
};
thread_local constinit Hook hook;

bool must_fail() {
  ++hook.num_allocations;
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (hook.until_failure == 0) return false;
  if (hook.until_failure > 1) {
    --hook.until_failure;
    return false;
  }
  if (!hook.later_too) hook.until_failure = 0;
  hook.happened = true;
  errno = ENOMEM;
  return true;
}

void add_bytes(int64_t num_bytes) {
  const int64_t now = live_bytes.fetch_add(num_bytes, std::memory_order_relaxed) + num_bytes;
  int64_t most = most_bytes.load(std::memory_order_relaxed);
  while (now > most && !most_bytes.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

int64_t usable_bytes(void* memory) { return static_cast<int64_t>(malloc_usable_size(memory)); }

void* counted(void* memory) {
  if (memory == nullptr) return memory;
  live_blocks.fetch_add(1, std::memory_order_relaxed);
  add_bytes(usable_bytes(memory));
  return memory;
}

void uncount(void* memory) {
  if (memory == nullptr) return;
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
  add_bytes(-usable_bytes(memory));
}

}  // namespace

int64_t num_live_blocks() { return live_blocks.load(std::memory_order_relaxed); }

PeakOfBytes PeakOfBytes::since_now() {
  const int64_t now = live_bytes.load(std::memory_order_relaxed);
  most_bytes.store(now, std::memory_order_relaxed);
  return PeakOfBytes(now);
}

int64_t PeakOfBytes::bytes() const { return most_bytes.load(std::memory_order_relaxed) - before_; }

int64_t num_allocations() { return hook.num_allocations; }

int64_t num_allocations_of_all() { return allocations.load(std::memory_order_relaxed); }

FailAllocations::FailAllocations(int64_t first, bool later_too) {
  hook.happened = false;
  hook.later_too = later_too;
  hook.until_failure = first;
}

FailAllocations::~FailAllocations() { hook.until_failure = 0; }

bool FailAllocations::happened() const { return hook.happened; }

}  // namespace heed

using namespace heed;  // NOLINT(google-build-using-namespace): the functions below are C

extern "C" {

void* malloc(size_t num_bytes) noexcept { return must_fail() ? nullptr : counted(__libc_malloc(num_bytes)); }

void* calloc(size_t count, size_t num_bytes) noexcept {
  return must_fail() ? nullptr : counted(__libc_calloc(count, num_bytes));
}

void* realloc(void* memory, size_t num_bytes) noexcept {
  if (must_fail()) return nullptr;
  const int64_t before = usable_bytes(memory);
  void* moved = __libc_realloc(memory, num_bytes);
  if (memory == nullptr) return counted(moved);
  if (moved != nullptr) {
    add_bytes(usable_bytes(moved) - before);
  } else if (num_bytes == 0) {  // this frees the block
    live_blocks.fetch_sub(1, std::memory_order_relaxed);
    add_bytes(-before);
  }
  return moved;
}

void* memalign(size_t alignment, size_t num_bytes) noexcept {
  return must_fail() ? nullptr : counted(__libc_memalign(alignment, num_bytes));
}

void* aligned_alloc(size_t alignment, size_t num_bytes) noexcept { return memalign(alignment, num_bytes); }

int posix_memalign(void** memory, size_t alignment, size_t num_bytes) noexcept {
  void* made = memalign(alignment, num_bytes);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}

void free(void* memory) noexcept {
  uncount(memory);
  __libc_free(memory);
}

// Anonymous mappings are memory. Only unmapping of whole mappings is expected.
void* mmap(void* address, size_t num_bytes, int protection, int flags, int file, off_t offset) noexcept {
  const bool is_memory = (flags & MAP_ANONYMOUS) != 0;
  if (is_memory && must_fail()) return MAP_FAILED;
  // The system call returns MAP_FAILED, too: -1.
  void* mapped = reinterpret_cast<void*>(::syscall(SYS_mmap, address, num_bytes, protection, flags, file, offset));
  if (is_memory && mapped != MAP_FAILED) {
    live_blocks.fetch_add(1, std::memory_order_relaxed);
    add_bytes(static_cast<int64_t>(num_bytes));
  }
  return mapped;
}

int munmap(void* memory, size_t num_bytes) noexcept {
  const int failed = static_cast<int>(::syscall(SYS_munmap, memory, num_bytes));
  if (failed == 0) {
    live_blocks.fetch_sub(1, std::memory_order_relaxed);
    add_bytes(-static_cast<int64_t>(num_bytes));
  }
  return failed;
}

}  // extern "C"
