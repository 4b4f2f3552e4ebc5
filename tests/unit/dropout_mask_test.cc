// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/dropout_mask.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heed::cpu {
namespace {

TEST(DropoutMask, KeepsByTheWordOfTheWeightsPlace) {
  // The first known answer of Philox: counter 0, key 0.
  const uint32_t words[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  for (int64_t k = 0; k < 4; ++k) {
    const double word = words[k] * 0x1p-32;
    // The float next to the word on either side decides differently.
    const auto near = static_cast<float>(word);
    EXPECT_TRUE(DropoutMask(std::nextafter(near, 0.0F), 0).keeps(0, 0, 0, k));
    EXPECT_FALSE(DropoutMask(std::nextafter(near, 1.0F), 0).keeps(0, 0, 0, k));
  }
}

TEST(DropoutMask, CountsElementsInTwoWords) {
  // What the generator gives for a counter of the two halves of 2^32 + 5, and for its first word alone.
  const DropoutMask mask(0.5F, 7);
  const int64_t quad = (int64_t{1} << 32) + 5;
  EXPECT_EQ(mask.words_of(quad), philox4x32({5, 1, 0, 0}, 7));
  EXPECT_NE(mask.words_of(quad), mask.words_of(5));
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(mask.keeps(mask.words_of(quad), 4 * quad + i),
              philox4x32({5, 1, 0, 0}, 7)[static_cast<size_t>(i)] >= 0x80000000u);
}

TEST(DropoutMask, KeepsItsShareAlongEveryAxis) {
  constexpr int64_t kCount = 20'000;
  const float dropout = 0.3F;
  const DropoutMask decisions(dropout, 99);
  int64_t kept[4] = {};
  for (int64_t i = 0; i < kCount; ++i) {
    kept[0] += decisions.keeps(i, 1, 2, 3) ? 1 : 0;
    kept[1] += decisions.keeps(1, i, 2, 3) ? 1 : 0;
    kept[2] += decisions.keeps(1, 2, i, 3) ? 1 : 0;
    kept[3] += decisions.keeps(1, 2, 3, i) ? 1 : 0;
  }
  // Six standard deviations of a binomial count.
  const double deviation = 6 * std::sqrt(kCount * 0.3 * 0.7);
  for (const int64_t count : kept) EXPECT_NEAR(static_cast<double>(count), kCount * 0.7, deviation);
}

}  // namespace
}  // namespace heed::cpu
