// SPDX-License-Identifier: Apache-2.0
// Memory from the C library and from the system.
#include "platform/aligned_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "support/platform/memory.h"

namespace heed::platform {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(AlignedMemory, IsAligned) {
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const size_t num_bytes : {1, 3, 64, 1000, 5000}) {
      void* const memory = allocate_aligned(num_bytes, alignment);
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u);
      std::memset(memory, 1, num_bytes);
      release_aligned(memory);
    }
  }
  release_aligned(nullptr);
}

TEST(AlignedMemory, OfImpossibleSizesIsRefused) {
  for (const size_t num_bytes : {SIZE_MAX, SIZE_MAX - 62, SIZE_MAX - 64, SIZE_MAX / 2 + 1}) {
    for (const size_t alignment : {size_t{1}, size_t{64}, size_t{4096}})
      EXPECT_EQ(allocate_aligned(num_bytes, alignment), nullptr);
  }
}

TEST(Pages, AreZerosAndGoBack) {
  EXPECT_GE(page_bytes(), 4096u);
  EXPECT_EQ(page_bytes() & (page_bytes() - 1), 0u);
  auto* const pages = static_cast<unsigned char*>(map_pages(3 * kMiB));
  ASSERT_NE(pages, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pages) % page_bytes(), 0u);
  for (size_t i = 0; i < 3 * kMiB; i += 1000) ASSERT_EQ(pages[i], 0);
  EXPECT_TRUE(is_page_mapped(pages));
  unmap_pages(pages, 3 * kMiB);
  EXPECT_FALSE(is_page_mapped(pages));
  EXPECT_FALSE(is_page_mapped(pages + 3 * kMiB - 1));
  EXPECT_EQ(map_pages(SIZE_MAX / 2), nullptr);
}

// Only the content is guaranteed; how the system treats the pages is not.
TEST(Pages, KeepTheirContentWhenTheyAreTouched) {
  constexpr size_t kLarge = 2 * kMiB;
  auto* const pages = static_cast<unsigned char*>(map_pages(3 * kLarge));
  ASSERT_NE(pages, nullptr);
  const size_t to_large = kLarge - reinterpret_cast<uintptr_t>(pages) % kLarge;
  pages[to_large + 5] = 7;
  request_large_pages(pages + to_large, kLarge);
  touch_pages(pages, 3 * kLarge);
  EXPECT_EQ(pages[to_large + 5], 7);
  EXPECT_EQ(pages[3 * kLarge - 1], 0);
  unmap_pages(pages, 3 * kLarge);
}

}  // namespace
}  // namespace heed::platform
