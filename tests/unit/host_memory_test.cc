// SPDX-License-Identifier: Apache-2.0
#include "tensor/host_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

namespace heed {
namespace {

TEST(HostMemory, IsOfZerosIfTheyAreWanted) {
  const HostMemory memory;
  constexpr size_t kNumBytes = 100;
  void* const used = memory.allocate(kNumBytes, Contents::Undefined);
  std::memset(used, 1, kNumBytes);
  memory.release(used, kNumBytes);
  auto* const bytes = static_cast<unsigned char*>(memory.allocate(kNumBytes, Contents::Zeros));
  for (size_t i = 0; i < kNumBytes; ++i) EXPECT_EQ(bytes[i], 0) << i;
  memory.release(bytes, kNumBytes);
}

}  // namespace
}  // namespace heed
