// SPDX-License-Identifier: Apache-2.0
#include "support/platform/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef HEED_POISONS_MEMORY
#include <sanitizer/asan_interface.h>
#endif

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace heed {
namespace {

size_t page_bytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

size_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  size_t total = 0;
  size_t resident = 0;
  const int num_read = std::fscanf(file, "%zu %zu", &total, &resident);
  std::fclose(file);
  return num_read == 2 ? resident * page_bytes() : 0;
}

const char* why_residency_is_unknown() {
#if defined(HEED_SANITIZED)
  return "the sanitizers keep what is freed";
#else
  return resident_bytes() == 0 ? "no /proc" : nullptr;
#endif
}

void keep_freed_memory() {
  // glibc maps each block above this threshold, and unmaps it when it is freed. It accepts no larger threshold.
  constexpr int kLargestKeptBlock = 32 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kLargestKeptBlock);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

bool is_page_mapped(const void* address) {
  unsigned char in_core = 0;
  const uintptr_t offset = reinterpret_cast<uintptr_t>(address) % page_bytes();
  auto* const page = static_cast<unsigned char*>(const_cast<void*>(address)) - offset;
  return ::mincore(page, 1, &in_core) == 0 || errno != ENOMEM;
}

bool is_large_page_requested(const void* address) {
  std::FILE* file = std::fopen("/proc/self/smaps", "r");
  if (file == nullptr) return false;
  char line[512];
  bool is_here = false;
  bool is_requested = false;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
      is_here = begin <= reinterpret_cast<uintptr_t>(address) && reinterpret_cast<uintptr_t>(address) < end;
    else if (is_here && std::strncmp(line, "VmFlags:", 8) == 0)
      is_requested = std::strstr(line, " hg") != nullptr;
  }
  std::fclose(file);
  return is_requested;
}

#ifdef HEED_POISONS_MEMORY
void poison(const void* memory, size_t num_bytes) { __asan_poison_memory_region(memory, num_bytes); }
void unpoison(const void* memory, size_t num_bytes) { __asan_unpoison_memory_region(memory, num_bytes); }
bool can_poison() { return true; }
#else
void poison(const void*, size_t) {}
void unpoison(const void*, size_t) {}
bool can_poison() { return false; }
#endif

BytesBeforeAWall::BytesBeforeAWall(size_t num_bytes) {
  const size_t page = page_bytes();
  const size_t readable = (num_bytes + page - 1) / page * page;
  num_mapped_ = readable + page;
  mapped_ = ::mmap(nullptr, num_mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const begin = static_cast<std::byte*>(mapped_);
  if (mapped_ == MAP_FAILED || ::mprotect(begin + readable, page, PROT_NONE) != 0) std::abort();
  bytes_ = begin + readable - num_bytes;
}

BytesBeforeAWall::~BytesBeforeAWall() { ::munmap(mapped_, num_mapped_); }

}  // namespace heed
