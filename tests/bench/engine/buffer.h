// SPDX-License-Identifier: Apache-2.0
// Memory that suits all libraries: aligned to 64 bytes, and with its pages mapped.
#ifndef HEED_BENCH_BUFFER_H
#define HEED_BENCH_BUFFER_H

#include <cstdlib>
#include <cstring>
#include <memory>

#include "fail.h"

namespace bench {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<void, Free>;

inline Buffer make_buffer(size_t num_bytes) {
  constexpr size_t kAlignment = 64;
  const size_t rounded = (num_bytes + kAlignment) / kAlignment * kAlignment;
  Buffer buffer(std::aligned_alloc(kAlignment, rounded));
  if (buffer == nullptr) fail("no memory for " + std::to_string(rounded) + " bytes");
  // All pages that were never written are the same physical page, which would stay in the caches. These bytes are 0.75
  // as a float, so not subnormal.
  std::memset(buffer.get(), 0x3f, rounded);
  return buffer;
}

}  // namespace bench

#endif  // HEED_BENCH_BUFFER_H
