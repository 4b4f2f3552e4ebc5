// SPDX-License-Identifier: Apache-2.0
#include "layers/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace heed {
namespace {

struct Lifetime {
  int32_t first;
  int32_t last;
};

// Arrays with these lifetimes and sizes, linked in the order of their first use.
std::vector<Intermediate> arrays_of(const std::vector<Lifetime>& lifetimes, const std::vector<int64_t>& whole,
                                    const std::vector<int64_t>& held) {
  std::vector<Intermediate> arrays(lifetimes.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    arrays[i].first_use = lifetimes[i].first;
    arrays[i].last_use = lifetimes[i].last;
    arrays[i].num_bytes = whole[i];
    arrays[i].num_held_bytes = held[i];
    arrays[i].slot = nullptr;
    arrays[i].next = i + 1 < arrays.size() ? &arrays[i + 1] : nullptr;
  }
  return arrays;
}

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    const int count = number(1, 25);
    for (int i = 0; i < count; ++i) {
      const int first = number(0, 20);
      lifetimes.push_back({first, first + number(0, 6)});
    }
    std::stable_sort(lifetimes.begin(), lifetimes.end(),
                     [](const Lifetime& a, const Lifetime& b) { return a.first < b.first; });
    for (int i = 0; i < count; ++i) {
      whole.push_back(int64_t{64} * number(0, 50));
      held.push_back(int64_t{64} * number(0, static_cast<int>(whole.back() / 64)));
    }
  }
  int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  std::vector<Lifetime> lifetimes;
  std::vector<int64_t> whole;
  std::vector<int64_t> held;

 private:
  std::mt19937 random_;
};

TEST(Placement, NeverLetsArraysInUseTogetherShareBytes) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    const RandomGraph graph(seed);
    std::vector<Intermediate> arrays = arrays_of(graph.lifetimes, graph.whole, graph.held);
    const WorkspaceBytes bytes = place_intermediates(arrays.data());
    int64_t sum = 0;
    for (size_t i = 0; i < arrays.size(); ++i) {
      sum += graph.whole[i];
      const auto begin = static_cast<int64_t>(arrays[i].slot->offset);
      ASSERT_LE(begin + graph.held[i], bytes.held) << "seed " << seed;
      for (size_t j = 0; j < i; ++j) {
        const bool together =
            graph.lifetimes[i].first <= graph.lifetimes[j].last && graph.lifetimes[j].first <= graph.lifetimes[i].last;
        if (!together) continue;
        const auto other = static_cast<int64_t>(arrays[j].slot->offset);
        ASSERT_TRUE(begin + graph.held[i] <= other || other + graph.held[j] <= begin) << "seed " << seed;
      }
    }
    EXPECT_LE(bytes.whole, sum);
    EXPECT_LE(bytes.held, bytes.whole);
  }
}

TEST(Placement, TakesNoLessForLargerArrays) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    RandomGraph graph(seed);
    std::vector<Intermediate> arrays = arrays_of(graph.lifetimes, graph.whole, graph.held);
    const WorkspaceBytes before = place_intermediates(arrays.data());
    for (size_t i = 0; i < arrays.size(); ++i) {
      const int64_t more = int64_t{64} * graph.number(0, 20);
      graph.whole[i] += more;
      graph.held[i] += int64_t{64} * graph.number(0, static_cast<int>(more / 64));
    }
    arrays = arrays_of(graph.lifetimes, graph.whole, graph.held);
    const WorkspaceBytes after = place_intermediates(arrays.data());
    EXPECT_GE(after.whole, before.whole) << "seed " << seed;
    EXPECT_GE(after.held, before.held) << "seed " << seed;
  }
}

TEST(Placement, ReusesASlotOnlyAfterThePhaseOfItsLastUse) {
  std::vector<Intermediate> arrays = arrays_of({{0, 1}, {1, 2}, {2, 3}}, {64, 128, 192}, {64, 64, 128});
  const WorkspaceBytes bytes = place_intermediates(arrays.data());
  EXPECT_EQ(arrays[0].slot, &arrays[0]);
  EXPECT_EQ(arrays[1].slot, &arrays[1]);
  EXPECT_EQ(arrays[2].slot, &arrays[0]);
  EXPECT_EQ(bytes.whole, 192 + 128);
  EXPECT_EQ(bytes.held, 128 + 64);
}

TEST(Placement, SaysWhenTheSumOverflows) {
  constexpr int64_t kHalf = INT64_MAX / 64 * 32;
  std::vector<Intermediate> arrays = arrays_of({{0, 1}, {0, 1}, {0, 1}}, {kHalf, kHalf, kHalf}, {0, 0, 0});
  EXPECT_EQ(place_intermediates(arrays.data()).whole, INT64_MAX);
  EXPECT_EQ(place_intermediates(nullptr).whole, 0);
}

}  // namespace
}  // namespace heed
