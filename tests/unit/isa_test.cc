// SPDX-License-Identifier: Apache-2.0
// The list of ISAs, and which of them this machine can run.
#include "backends/cpu/engine/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "support/platform/processors.h"

namespace heed::cpu {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Isa& isa : isas()) all.emplace_back(isa.name());
  return all;
}

TEST(Isa, ListIsTheArchitectures) {
#if defined(__x86_64__)
  EXPECT_EQ(names(), (std::vector<std::string>{"portable", "avx2", "avx512", "avx512_bf16"}));
#elif defined(__aarch64__)
  EXPECT_EQ(names(), (std::vector<std::string>{"portable", "neon"}));
#else
  EXPECT_EQ(names(), std::vector<std::string>{"portable"});
#endif
  EXPECT_TRUE(isas().front().is_available());
}

TEST(Isa, ListIsOrderedByVectorWidth) {
  EXPECT_TRUE(std::is_sorted(isas().begin(), isas().end(),
                             [](const Isa& a, const Isa& b) { return a.kernels->lanes < b.kernels->lanes; }));
}

// The available ISAs come first in the list, since each needs the features of the one before.
TEST(Isa, WidestIsTheLastThatIsAvailable) {
  const auto end =
      std::partition_point(isas().begin(), isas().end(), [](const Isa& isa) { return isa.is_available(); });
  EXPECT_TRUE(std::none_of(end, isas().end(), [](const Isa& isa) { return isa.is_available(); }));
  EXPECT_STREQ(widest_isa().name(), (end - 1)->name());
}

#if defined(__x86_64__)
// Compares with the operating system's list of features.
TEST(Isa, IsAvailableWhereTheSystemSaysSo) {
  const std::set<std::string> flags = processor_flags();
  if (flags.empty()) GTEST_SKIP() << "the system does not list the processor's features";
  std::set<std::string> needs;
  const std::vector<std::vector<std::string>> added = {
      {}, {"avx2", "fma", "f16c"}, {"avx512f", "avx512bw", "avx512dq", "avx512vl"}, {"avx512_bf16", "avx512_vnni"}};
  ASSERT_EQ(added.size(), isas().size());
  for (size_t i = 0; i < added.size(); ++i) {
    needs.insert(added[i].begin(), added[i].end());
    const bool has_all = std::includes(flags.begin(), flags.end(), needs.begin(), needs.end());
    EXPECT_EQ(isas()[i].is_available(), has_all) << isas()[i].name();
  }
}
#endif

}  // namespace
}  // namespace heed::cpu
