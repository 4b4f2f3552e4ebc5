// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include "platform/aligned_memory.h"

namespace heed::platform {
namespace {

// MADV_POPULATE_WRITE, which Linux has since 5.14; older headers do not define it.
constexpr int kPopulateWrite = 23;

}  // namespace

bool request_large_pages(void* memory, size_t num_bytes) noexcept {
  return ::madvise(memory, num_bytes, MADV_HUGEPAGE) == 0;
}

void touch_pages(void* pages, size_t num_bytes) noexcept { ::madvise(pages, num_bytes, kPopulateWrite); }

}  // namespace heed::platform
