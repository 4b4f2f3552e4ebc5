// SPDX-License-Identifier: Apache-2.0
// Dropout of elements whose index needs more than 34 bits, which no test's tensor has, and the exact threshold for a
// probability.
#include "backends/cpu/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "backends/cpu/engine/isa.h"
#include "base/philox.h"

namespace heed::cpu {
namespace {

TEST(Dropout, ThresholdIsExact) {
  // The first published answer of Philox: counter 0, key 0.
  for (const uint32_t word : {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}) {
    // Probabilities next to the word, on either side, must decide differently.
    const auto near = static_cast<float>(word * 0x1p-32);
    EXPECT_GE(word, dropout_threshold(std::nextafter(near, 0.0F)));
    EXPECT_LT(word, dropout_threshold(std::nextafter(near, 1.0F)));
  }
  EXPECT_EQ(dropout_threshold(0x1.fffffep-1F), 0xFFFFFF00u);
  EXPECT_EQ(dropout_threshold(0x1p-33F), 0u);
}

TEST(Dropout, CountsElementsInTwoWords) {
  constexpr uint64_t kSeed = 7;
  constexpr int64_t kCount = 1000;
  for (const Isa& isa : isas()) {
    if (!isa.is_available()) continue;
    // Elements before and after the first one whose counter needs a second word, and much later ones.
    for (const int64_t first : {(int64_t{1} << 34) - 501, (int64_t{5} << 34) + 3}) {
      const std::vector<float> ones(kCount, 1.0F);
      std::vector<float> result(kCount);
      DropoutArguments arguments = {};
      arguments.input = {const_cast<float*>(ones.data()), 1, DType::F32};
      arguments.output = {result.data(), 1, DType::F32};
      arguments.count = kCount;
      arguments.first = first;
      arguments.seed = kSeed;
      arguments.threshold = 0x80000000;
      arguments.scale = 2;
      isa.kernels->dropout_row(&arguments);
      for (int64_t i = 0; i < kCount; ++i) {
        const auto quad = static_cast<uint64_t>(first + i) / 4;
        const PhiloxCounter words =
            philox4x32({static_cast<uint32_t>(quad), static_cast<uint32_t>(quad >> 32), 0, 0}, kSeed);
        const bool is_kept = words[static_cast<size_t>((first + i) % 4)] >= 0x80000000;
        ASSERT_EQ(result[static_cast<size_t>(i)], is_kept ? 2.0F : 0.0F) << isa.name() << ", element " << first + i;
      }
    }
  }
}

}  // namespace
}  // namespace heed::cpu
