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

// A batch whose elements have sequences of their own, as with lengths of queries or packed, and positions of queries.
struct Ragged {
  explicit Ragged(std::mt19937& random) {
    const auto pick = [&random](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    batch = pick(0, 4);
    is_packed = pick(0, 1) == 0;
    has_positions = pick(0, 2) != 0;
    const bool has_table = is_packed || pick(0, 2) != 0;
    limits = unlimited(pick(0, 9), pick(0, 12));
    const int64_t band_first = pick(0, 2) == 0 ? -kUnlimited : pick(-9, 9);
    const int64_t band_last = pick(0, 2) == 0 ? kUnlimited : pick(-9, 12);
    int64_t query_begin = 0;
    int64_t key_begin = 0;
    for (int64_t b = 0; b < batch; ++b) {
      Sequence& sequence = sequences.emplace_back(limits.sequence);
      if (has_table) {
        sequence.query_count = pick(0, limits.num_queries);
        sequence.key_count = pick(0, limits.num_keys);
        sequence.query_position = sequence.key_count - sequence.query_count;
      }
      if (is_packed) {
        sequence.query_begin = query_begin;
        sequence.key_begin = key_begin;
      }
      query_begin += sequence.query_count;
      key_begin += sequence.key_count;
    }
    const auto set_band = [&](Sequence& sequence) {
      const int64_t queries = has_positions ? kUnlimited : sequence.query_count;
      const int64_t keys = has_positions ? kUnlimited : sequence.key_count;
      sequence.band_first = std::max(band_first, -queries);
      sequence.band_last = std::min(band_last, keys);
    };
    for (Sequence& sequence : sequences) set_band(sequence);
    set_band(limits.sequence);
    limits.has_table = has_table ? 1 : 0;
    if (has_table) limits.table = sequences.data();
    if (has_positions) {
      const int64_t rows = is_packed ? query_begin : batch * limits.num_queries;
      positions.resize(static_cast<size_t>(std::max<int64_t>(1, rows)));
      for (int64_t& position : positions) position = pick(0, 20) == 0 ? INT32_MAX : pick(0, 14);
      limits.positions.given = 1;
      limits.positions.dtype = DType::I64;
      limits.positions.data = positions.data();
      limits.positions.strides[0] = is_packed ? 0 : limits.num_queries;
      limits.positions.strides[2] = 1;
    }
    if (is_packed || pick(0, 1) == 0) return;
    lens.resize(static_cast<size_t>(std::max<int64_t>(1, batch * limits.num_queries)));
    for (int32_t& length : lens) length = static_cast<int32_t>(pick(0, limits.num_keys));
    limits.valid_lens.given = 1;
    limits.valid_lens.dtype = DType::I32;
    limits.valid_lens.data = lens.data();
    limits.valid_lens.strides[0] = limits.num_queries;
    limits.valid_lens.strides[2] = pick(0, 1);
  }

  int64_t origin(int64_t b, int64_t q) const {
    if (!has_positions) return q;
    const int64_t row = is_packed ? sequences[static_cast<size_t>(b)].query_begin + q : b * limits.num_queries + q;
    return positions[static_cast<size_t>(row)];
  }
  bool sees(int64_t b, int64_t q, int64_t k) const {
    const Sequence& sequence = sequences[static_cast<size_t>(b)];
    if (q >= sequence.query_count || k >= sequence.key_count) return false;
    if (!lens.empty() &&
        k >= lens[static_cast<size_t>(b * limits.valid_lens.strides[0] + q * limits.valid_lens.strides[2])])
      return false;
    return k - origin(b, q) >= sequence.band_first && k - origin(b, q) <= sequence.band_last;
  }

  int64_t batch = 0;
  bool is_packed = false;
  bool has_positions = false;
  KeyLimits limits;
  std::vector<Sequence> sequences;
  std::vector<int64_t> positions;
  std::vector<int32_t> lens;
};

TEST(VisibleKeys, OfRaggedBatchesAndPositionsAreThoseOfThePairsOneByOne) {
  std::mt19937 random(62);
  for (int i = 0; i < 20000; ++i) {
    const Ragged given(random);
    const KeyLimits& limits = given.limits;
    double pairs = 0;
    double num_visible = 0;
    double num_queries = 0;
    for (int64_t b = 0; b < given.batch; ++b) {
      const Sequence& sequence = given.sequences[static_cast<size_t>(b)];
      Hull of_element;
      bool is_some_empty = false;
      std::vector<KeyRange> ranges(static_cast<size_t>(sequence.query_count));
      find_keys_of_queries(limits, b, 0, sequence.query_count, ranges.data());
      for (int64_t q = 0; q < sequence.query_count; ++q) {
        Hull of_query;
        for (int64_t k = 0; k < sequence.key_count; ++k) {
          if (!given.sees(b, q, k)) continue;
          ++pairs;
          of_query.add(k);
          of_element.add(k);
        }
        is_some_empty = is_some_empty || of_query.end == 0;
        ASSERT_TRUE(of_query.is(keys_of_query(limits, b, q))) << "case " << i << ", query " << q;
        ASSERT_TRUE(of_query.is(ranges[static_cast<size_t>(q)])) << "case " << i << ", query " << q;
        const int64_t position = given.has_positions ? given.origin(b, q) : sequence.query_position + q;
        ASSERT_EQ(position_of_query(limits, b, q), position) << "case " << i;
      }
      const KeyRange visible = keys_of_element(limits, b);
      ASSERT_TRUE(of_element.is(visible)) << "case " << i << ", element " << b;
      EXPECT_EQ(wanted_rows(limits, WantedRows::Visible, b), visible);
      EXPECT_EQ(wanted_rows(limits, WantedRows::VisibleOrMean, b),
                is_some_empty ? (KeyRange{0, sequence.key_count}) : visible)
          << "case " << i;
      EXPECT_EQ(wanted_rows(limits, WantedRows::Queries, b), (KeyRange{0, sequence.query_count}));
      num_visible += static_cast<double>(visible.size());
      num_queries += static_cast<double>(sequence.query_count);
    }
    ASSERT_EQ(visible_pairs(limits, given.batch), pairs) << "case " << i;
    EXPECT_EQ(num_wanted_rows(limits, WantedRows::Visible, given.batch), num_visible) << "case " << i;
    EXPECT_EQ(num_wanted_rows(limits, WantedRows::Queries, given.batch), num_queries) << "case " << i;
  }
}

// A problem that is only planned has no positions, as if they were the usual ones.
TEST(VisibleKeys, PositionsWithoutDataAreThoseBeforeTheLastKey) {
  KeyLimits limits = unlimited(3, 8);
  limits.positions.given = 1;
  limits.sequence.band_first = -kUnlimited;
  limits.sequence.band_last = 0;
  for (int64_t q = 0; q < 3; ++q) {
    EXPECT_EQ(position_of_query(limits, 0, q), 5 + q);
    EXPECT_EQ(keys_of_query(limits, 0, q), (KeyRange{0, 6 + q}));
  }
  EXPECT_EQ(visible_pairs(limits, 2), 2.0 * (6 + 7 + 8));
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
