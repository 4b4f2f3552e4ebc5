// SPDX-License-Identifier: Apache-2.0
// The ranges of visible keys, compared with a test of each pair of query and key.
#include "ops/visible_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "ops/attention.h"
#include "ops/cost.h"
#include "ops/linear.h"
#include "ops/sequence.h"

namespace heed {
namespace {

enum class Lengths { None, OfElements, OfQueries, OfOneElementForAll, WithoutData };

// Random limits of a batch, with lengths.
struct Case {
  Case(std::mt19937& random, Lengths kind) {
    const auto pick = [&random](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    batch = pick(0, 4);
    const int64_t num_queries = pick(0, 9);
    limits = unlimited(num_queries, pick(0, 12));
    limits.sequence.band_first = pick(-limits.num_queries, limits.num_keys);
    limits.sequence.band_last = pick(-limits.num_queries, limits.num_keys);
    if (pick(0, 2) == 0) limits.sequence.band_first = -limits.num_queries;
    if (pick(0, 2) == 0) limits.sequence.band_last = limits.num_keys;
    lens.resize(static_cast<size_t>(std::max<int64_t>(1, batch * std::max<int64_t>(1, limits.num_queries))));
    for (int32_t& length : lens) length = static_cast<int32_t>(pick(0, limits.num_keys));
    if (kind == Lengths::None) return;
    limits.valid_lens.given = 1;
    limits.valid_lens.dtype = DType::I32;
    if (kind == Lengths::OfElements) limits.valid_lens.strides[0] = 1;
    if (kind == Lengths::OfQueries) {
      limits.valid_lens.strides[0] = limits.num_queries;
      limits.valid_lens.strides[2] = 1;
    }
    if (kind != Lengths::WithoutData) limits.valid_lens.data = lens.data();
  }

  int64_t length(int64_t b, int64_t q) const {
    const Operand& operand = limits.valid_lens;
    if (operand.data == nullptr) return limits.num_keys;
    return lens[static_cast<size_t>(b * operand.strides[0] + q * operand.strides[2])];
  }
  bool sees(int64_t b, int64_t q, int64_t k) const {
    return k < length(b, q) && k >= q + limits.sequence.band_first && k <= q + limits.sequence.band_last;
  }

  int64_t batch = 0;
  KeyLimits limits;
  std::vector<int32_t> lens;
};

// The smallest range that contains all added keys.
struct Hull {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t end = 0;

  void add(int64_t k) {
    first = std::min(first, k);
    end = std::max(end, k + 1);
  }
  void add(KeyRange range) {
    if (range.size() == 0) return;
    add(range.first);
    add(range.end - 1);
  }
  bool is(KeyRange range) const { return end == 0 ? range.size() == 0 : range.first == first && range.end == end; }
};

TEST(VisibleKeys, AreThoseOfThePairsOneByOne) {
  std::mt19937 random(61);
  for (int i = 0; i < 20000; ++i) {
    const Case given(random, static_cast<Lengths>(i % 5));
    const KeyLimits& limits = given.limits;
    double pairs = 0;
    Hull of_batch;
    Hull with_mean_of_batch;
    double num_visible = 0;
    double num_with_mean = 0;
    for (int64_t b = 0; b < given.batch; ++b) {
      Hull of_element;
      bool is_some_empty = false;
      for (int64_t q = 0; q < limits.num_queries; ++q) {
        Hull of_query;
        for (int64_t k = 0; k < limits.num_keys; ++k) {
          if (!given.sees(b, q, k)) continue;
          ++pairs;
          of_query.add(k);
          of_element.add(k);
        }
        is_some_empty = is_some_empty || of_query.end == 0;
        ASSERT_TRUE(of_query.is(keys_of_query(limits, b, q))) << "case " << i << ", query " << q;
      }
      const KeyRange visible = keys_of_element(limits, b);
      ASSERT_TRUE(of_element.is(visible)) << "case " << i << ", element " << b;
      EXPECT_EQ(wanted_rows(limits, WantedRows::Visible, b), visible);
      EXPECT_EQ(wanted_rows(limits, WantedRows::All, b), (KeyRange{0, limits.num_keys}));
      const KeyRange with_mean = wanted_rows(limits, WantedRows::VisibleOrMean, b);
      EXPECT_EQ(with_mean, is_some_empty ? (KeyRange{0, limits.num_keys}) : visible) << "case " << i;
      of_batch.add(visible);
      with_mean_of_batch.add(with_mean);
      num_visible += static_cast<double>(visible.size());
      num_with_mean += static_cast<double>(with_mean.size());
    }
    ASSERT_EQ(visible_pairs(limits, given.batch), pairs) << "case " << i;
    EXPECT_TRUE(of_batch.is(wanted_rows_of_batch(limits, WantedRows::Visible, given.batch))) << "case " << i;
    EXPECT_TRUE(with_mean_of_batch.is(wanted_rows_of_batch(limits, WantedRows::VisibleOrMean, given.batch)));
    EXPECT_EQ(num_wanted_rows(limits, WantedRows::Visible, given.batch), num_visible);
    EXPECT_EQ(num_wanted_rows(limits, WantedRows::VisibleOrMean, given.batch), num_with_mean);
    EXPECT_EQ(num_wanted_rows(limits, WantedRows::All, given.batch),
              static_cast<double>(given.batch * limits.num_keys));
  }
}

TEST(VisibleKeys, OfABatchThatNobodyCouldRunAreCountedInClosedForm) {
  KeyLimits limits = unlimited(int64_t{1} << 40, (int64_t{1} << 41) + 7);
  limits.sequence.band_first = limits.num_keys - limits.num_queries - 5;
  limits.sequence.band_last = limits.num_keys - limits.num_queries;
  const int64_t batch = int64_t{1} << 50;
  EXPECT_EQ(keys_of_element(limits, 0), (KeyRange{limits.sequence.band_first, limits.num_keys}));
  const auto rows = static_cast<double>(limits.num_queries + 5);
  EXPECT_EQ(num_wanted_rows(limits, WantedRows::VisibleOrMean, batch), rows * static_cast<double>(batch));
}

TEST(VisibleKeys, ValuesAreReadWhollyWhereARowMayAverageThem) {
  AttentionProblem problem;
  EXPECT_EQ(values_read(problem), WantedRows::Visible);
  problem.mask.given = 1;
  EXPECT_EQ(values_read(problem), WantedRows::Visible);
  problem.empty_rows = EmptyRows::Mean;
  EXPECT_EQ(values_read(problem), WantedRows::All);
  problem.mask.given = 0;
  EXPECT_EQ(values_read(problem), WantedRows::VisibleOrMean);
  problem.bias.given = 1;
  EXPECT_EQ(values_read(problem), WantedRows::All);
}

// Two parts of one input. Their wanted rows are 2 to 5 of the first batch element, and none of the second.
TEST(VisibleKeys, CountForTheCostOfALinearOperation) {
  std::vector<int32_t> lens = {6, 0};
  LinearProblem problem;
  problem.batch = 2;
  problem.rows = 10;
  problem.input_size = 3;
  problem.num_parts = 2;
  problem.limits = unlimited(1, 10);
  problem.limits.sequence.band_first = 2;
  problem.limits.sequence.band_last = 10;
  problem.limits.valid_lens.data = lens.data();
  problem.limits.valid_lens.dtype = DType::I32;
  problem.limits.valid_lens.given = 1;
  problem.limits.valid_lens.strides[0] = 1;
  const auto set = [](Operand& operand) {
    operand.given = 1;
    for (int64_t& stride : operand.strides) stride = 1;
  };
  set(problem.input);
  for (LinearPart& part : problem.parts) {
    part.output_size = 8;
    part.head_size = 4;
    part.wanted_rows = WantedRows::Visible;
    set(part.weight);
    set(part.output);
  }
  EXPECT_EQ(cost_of(problem).flops, 2.0 * 4 * 3 * (8 + 8));
  EXPECT_EQ(cost_of(problem).bytes, 4.0 * (4 * 3 + 2 * (8 * 3 + 4 * 8)));
  // A part that wants all rows makes the operation read the whole input.
  problem.parts[1].wanted_rows = WantedRows::All;
  EXPECT_EQ(cost_of(problem).flops, 2.0 * (4 + 20) * 3 * 8);
  EXPECT_EQ(cost_of(problem).bytes, 4.0 * (20 * 3 + 2 * 8 * 3 + 4 * 8 + 20 * 8));
  // Lengths without data hide nothing.
  problem.parts[1].wanted_rows = WantedRows::Visible;
  problem.limits.valid_lens.data = nullptr;
  EXPECT_EQ(cost_of(problem).flops, 2.0 * 16 * 3 * (8 + 8));
}

}  // namespace
}  // namespace heed
