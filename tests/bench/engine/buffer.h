// SPDX-License-Identifier: Apache-2.0
// Memory as the fastest of all libraries wants it: at a multiple of 64 bytes, and with its pages there.
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
  // Pages that were never written are all the same one, which stays in the caches. 1.06 as float, so no subnormals.
  std::memset(buffer.get(), 0x3f, rounded);
  return buffer;
}

}  // namespace bench

#endif  // HEED_BENCH_BUFFER_H
