// SPDX-License-Identifier: Apache-2.0
// The features that the processor has and the system supports.
#include "platform/cpu_features.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "support/platform/processors.h"

namespace heed::platform {
namespace {

// Compares with an independent source. A build that detected no features would silently use the slow portable kernels.
TEST(CpuFeatures, AreThoseThatTheSystemLists) {
  const std::set<std::string> flags = processor_flags();
  if (flags.empty()) GTEST_SKIP() << "the system does not list them";
  for (const auto& [feature, name] : {std::pair{kAvx2, "avx2"},
                                      {kFma, "fma"},
                                      {kF16c, "f16c"},
                                      {kAvx512F, "avx512f"},
                                      {kAvx512Bw, "avx512bw"},
                                      {kAvx512Dq, "avx512dq"},
                                      {kAvx512Vl, "avx512vl"},
                                      {kAvx512Bf16, "avx512_bf16"},
                                      {kAvx512Vnni, "avx512_vnni"}})
    EXPECT_EQ(has_cpu_features(feature), flags.contains(name)) << name;
}

TEST(CpuFeatures, AreAllPresentOrNot) {
  EXPECT_TRUE(has_cpu_features(0));
  EXPECT_TRUE(has_cpu_features(cpu_features()));
  EXPECT_FALSE(has_cpu_features(~cpu_features()));
  EXPECT_EQ(cpu_features(), cpu_features());
}

TEST(Pause, Returns) { pause_processor(); }

}  // namespace
}  // namespace heed::platform
