// SPDX-License-Identifier: Apache-2.0
// How values of CPUID and XGETBV are read as features, also for processors and systems other than this machine.
#include "platform/cpu_features_x86.h"

#include <gtest/gtest.h>

namespace heed::platform {
namespace {

constexpr CpuFeatures kOfAvx2 = kAvx2 | kFma | kF16c;
constexpr CpuFeatures kAll = kOfAvx2 | kAvx512F | kAvx512Bw | kAvx512Dq | kAvx512Vl | kAvx512Bf16 | kAvx512Vnni;

constexpr uint32_t kOsxsave = 1u << 27;
constexpr uint32_t kAvx = 1u << 28;

constexpr CpuidResult kEverything = {~0u, ~0u, ~0u, ~0u, ~uint64_t{0}};

TEST(CpuFeaturesX86, NeedTheirBits) {
  EXPECT_EQ(features_of({}), 0u);
  EXPECT_EQ(features_of(kEverything), kAll);
  const auto without = [](uint32_t CpuidResult::*word, unsigned bit) {
    CpuidResult result = kEverything;
    result.*word &= ~(1u << bit);
    return features_of(result);
  };
  EXPECT_EQ(without(&CpuidResult::leaf1_ecx, 12), kAll & ~kFma);
  EXPECT_EQ(without(&CpuidResult::leaf1_ecx, 29), kAll & ~kF16c);
  EXPECT_EQ(without(&CpuidResult::leaf7_ebx, 5), kAll & ~kAvx2);
  EXPECT_EQ(without(&CpuidResult::leaf7_ebx, 16), kAll & ~kAvx512F);
  EXPECT_EQ(without(&CpuidResult::leaf7_ebx, 17), kAll & ~kAvx512Dq);
  EXPECT_EQ(without(&CpuidResult::leaf7_ebx, 30), kAll & ~kAvx512Bw);
  EXPECT_EQ(without(&CpuidResult::leaf7_ebx, 31), kAll & ~kAvx512Vl);
  EXPECT_EQ(without(&CpuidResult::leaf7_ecx, 11), kAll & ~kAvx512Vnni);
  EXPECT_EQ(without(&CpuidResult::leaf7_1_eax, 5), kAll & ~kAvx512Bf16);
}

// A feature is unusable if the system does not save its registers.
TEST(CpuFeaturesX86, NeedTheSystem) {
  CpuidResult result = kEverything;
  for (const uint64_t xcr0 : {0x0, 0x1, 0x3, 0x5, 0xe1, 0xe3, 0xe5}) {
    result.xcr0 = xcr0;
    EXPECT_EQ(features_of(result), 0u) << xcr0;
  }
  for (const uint64_t xcr0 : {0x7, 0x27, 0x47, 0x87, 0x67, 0xa7, 0xc7}) {
    result.xcr0 = xcr0;
    EXPECT_EQ(features_of(result), kOfAvx2) << xcr0;
  }
  result.xcr0 = 0xe7;
  EXPECT_EQ(features_of(result), kAll);
  result.leaf1_ecx = ~kOsxsave;
  EXPECT_EQ(features_of(result), 0u);
  result.leaf1_ecx = ~kAvx;
  EXPECT_EQ(features_of(result), 0u);
}

}  // namespace
}  // namespace heed::platform
