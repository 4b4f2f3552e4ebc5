// SPDX-License-Identifier: Apache-2.0
#include "base/fresh_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace heed {
namespace {

// Linux 5.14 has it, the headers of some systems do not.
constexpr int kPopulate = 23;
#ifdef MADV_POPULATE_WRITE
static_assert(kPopulate == MADV_POPULATE_WRITE);
#endif

// A large page at 2 GB/s. Zeros are written at some 10 GB/s; small pages come at 2 to 8, and from a virtual machine's
// host at 0.5.
constexpr int64_t kSlowNanoseconds = 1'000'000;

// Of this thread alone, so that others who take the processor meanwhile make no page slow.
int64_t nanoseconds_of_thread() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// A write that changes nothing.
void touch_byte(std::byte* byte) {
  static_cast<void>(__atomic_fetch_or(reinterpret_cast<unsigned char*>(byte), 0, __ATOMIC_RELAXED));
}

}  // namespace

size_t FreshMemory::count_pieces(const void* block, size_t num_bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(block) / kPieceBytes;
  const auto end = (reinterpret_cast<uintptr_t>(block) + num_bytes + kPieceBytes - 1) / kPieceBytes;
  return end - begin;
}

void FreshMemory::touch(void* block, size_t num_bytes, size_t piece) noexcept {
  auto* const bytes = static_cast<std::byte*>(block);
  const auto begin = reinterpret_cast<uintptr_t>(block);
  const uintptr_t first = begin / kPieceBytes * kPieceBytes + piece * kPieceBytes;
  const bool is_whole = first >= begin && first + kPieceBytes <= begin + num_bytes;
#ifdef MADV_HUGEPAGE
  if (is_whole && wants_large_.load(std::memory_order_relaxed) &&
      ::madvise(bytes + (first - begin), kPieceBytes, MADV_HUGEPAGE) == 0) {
    const int64_t start = nanoseconds_of_thread();
    touch_byte(bytes + (first - begin));
    if (nanoseconds_of_thread() - start > kSlowNanoseconds) wants_large_.store(false, std::memory_order_relaxed);
    return;
  }
#endif
  // Whole small pages alone: the first and the last may be others' as well.
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t from = is_whole || first >= begin ? first : (begin + page - 1) / page * page;
  const uintptr_t to = is_whole ? first + kPieceBytes : (begin + num_bytes) / page * page;
  const uintptr_t end = first + kPieceBytes < to ? first + kPieceBytes : to;
  if (from < end) ::madvise(bytes + (from - begin), end - from, kPopulate);
}

}  // namespace heed
