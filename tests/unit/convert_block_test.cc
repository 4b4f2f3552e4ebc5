// SPDX-License-Identifier: Apache-2.0
// convert_block gives the same bits as converting each element by itself, also for NaNs.
#include "tensor/convert_block.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tensor/copy.h"

namespace heed {
namespace {

template <typename To, typename From>
void expect_same_bits(const std::vector<From>& elements) {
  ASSERT_EQ(elements.size() % kConvertedBlock, 0u);
  for (size_t first = 0; first < elements.size(); first += kConvertedBlock) {
    // At an odd address, to test misaligned memory.
    std::array<std::byte, sizeof(From) * kConvertedBlock + 1> source{};
    std::array<std::byte, sizeof(To) * kConvertedBlock + 1> converted{};
    std::memcpy(source.data() + 1, &elements[first], source.size() - 1);
    convert_block<To, From>(converted.data() + 1, source.data() + 1);
    for (size_t i = 0; i < static_cast<size_t>(kConvertedBlock); ++i) {
      const To expected = convert<To>(elements[first + i]);
      ASSERT_EQ(std::memcmp(converted.data() + 1 + i * sizeof(To), &expected, sizeof expected), 0)
          << "element " << first + i;
    }
  }
}

template <typename Narrow>
std::vector<Narrow> all_of() {
  std::vector<Narrow> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<uint16_t>(i);
  return all;
}

// Every exponent with significands near the points at which rounding to a 16-bit dtype changes, and random bit
// patterns.
std::vector<float> singles() {
  std::vector<float> all;
  for (uint32_t sign = 0; sign < 2; ++sign) {
    for (uint32_t exponent = 0; exponent < 256; ++exponent) {
      for (const uint32_t significand :
           {0x0u,      0x1u,      0xfffu,    0x1000u,   0x1001u,   0x1fffu,   0x2000u,   0x2fffu,  0x3000u,
            0x3001u,   0x7fffu,   0x8000u,   0x8001u,   0xffffu,   0x10000u,  0x17fffu,  0x18000u, 0x18001u,
            0x3fffffu, 0x400000u, 0x400001u, 0x7fefffu, 0x7ff000u, 0x7f7fffu, 0x7f8000u, 0x7fffffu})
        all.push_back(std::bit_cast<float>(sign << 31 | exponent << 23 | significand));
    }
  }
  std::mt19937 random(8101);
  while (all.size() < 400'000) all.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  while (all.size() % kConvertedBlock != 0) all.push_back(0);
  return all;
}

TEST(ConvertBlock, GivesTheSameBitsAsElementByElement) {
  expect_same_bits<float>(all_of<Half>());
  expect_same_bits<float>(all_of<BFloat16>());
  expect_same_bits<Half>(singles());
  expect_same_bits<BFloat16>(singles());
  // Blocks without small numbers take a different path.
  std::vector<float> large;
  for (const float single : singles()) {
    if (!(single > -0x1p-14f && single < 0x1p-14f)) large.push_back(single);
  }
  large.resize(large.size() / kConvertedBlock * kConvertedBlock);
  expect_same_bits<Half>(large);
}

// The last elements of such rows do not fill a block.
TEST(ConvertBlock, IsUsedForRowsOfAnyLength) {
  const std::vector<float> from = singles();
  for (int64_t count = 0; count < 150; ++count) {
    std::vector<uint16_t> to(160, 0x5b5b);
    convert_elements(DType::BF16, to.data(), 2, DType::F32, from.data() + 8000, 4, count);
    for (int64_t i = 0; i < 160; ++i) {
      const uint16_t expected = i < count ? convert<BFloat16>(from[static_cast<size_t>(8000 + i)]).bits : 0x5b5b;
      ASSERT_EQ(to[static_cast<size_t>(i)], expected) << i << " of " << count;
    }
  }
}

}  // namespace
}  // namespace heed
