// SPDX-License-Identifier: Apache-2.0
// Sequences of packed batches and of lengths of queries, from tensors of any strides.
#include "attention/sequences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "failure.h"
#include "ops/visible_keys.h"
#include "plain_memory.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

Tensor numbers(const std::vector<int64_t>& elements) {
  Tensor tensor = Tensor::undefined(plain_memory(), DType::I64, {static_cast<int64_t>(elements.size())});
  std::copy(elements.begin(), elements.end(), reinterpret_cast<int64_t*>(tensor.data()));
  return tensor;
}

TEST(Sequences, OfAPackedBatchLieOneAfterAnother) {
  const Tensor of_queries = numbers({0, 3, 3, 7});
  const Tensor of_keys = numbers({0, 2, 9, 10});
  std::array<Sequence, 3> table;
  CallSequences sequences;
  sequences.query_offsets = &of_queries;
  sequences.key_offsets = &of_keys;
  sequences.table = table.data();
  ASSERT_EQ(packed_batch(sequences, false), 3);
  KeyLimits limits = unlimited(7, 10);
  set_sequences(limits, sequences, 3, false, true);
  EXPECT_EQ(limits.has_table, 1);
  EXPECT_EQ(limits.table, table.data());
  EXPECT_EQ(limits.num_queries, 4) << "the longest";
  EXPECT_EQ(limits.num_keys, 7);
  EXPECT_EQ(num_query_rows(limits, 3), 7);
  EXPECT_EQ(num_key_rows(limits, 3), 10);
  const int64_t expected[3][5] = {{0, 3, 0, 2, -1}, {3, 0, 2, 7, 7}, {3, 4, 9, 1, -3}};
  for (size_t b = 0; b < 3; ++b) {
    EXPECT_EQ(table[b].query_begin, expected[b][0]);
    EXPECT_EQ(table[b].query_count, expected[b][1]);
    EXPECT_EQ(table[b].key_begin, expected[b][2]);
    EXPECT_EQ(table[b].key_count, expected[b][3]);
    EXPECT_EQ(table[b].query_position, expected[b][4]);
  }
}

TEST(Sequences, OfKeysThatAreTheQueriesShareTheirOffsets) {
  const Tensor offsets = numbers({0, 3, 7});
  std::array<Sequence, 2> table;
  CallSequences sequences;
  sequences.query_offsets = &offsets;
  sequences.table = table.data();
  ASSERT_EQ(packed_batch(sequences, true), 2);
  KeyLimits limits = unlimited(7, 7);
  set_sequences(limits, sequences, 2, true, true);
  EXPECT_EQ(table[1].key_begin, 3);
  EXPECT_EQ(table[1].key_count, 4);
  EXPECT_EQ(table[1].query_position, 0);
}

// Lengths of queries count from the end of the keys, and in self-attention cut the keys too.
TEST(Sequences, OfLengthsOfQueries) {
  const Tensor lens = numbers({2, 0});
  std::array<Sequence, 2> table;
  CallSequences sequences;
  sequences.query_lens = &lens;
  sequences.table = table.data();
  KeyLimits limits = unlimited(4, 4);
  set_sequences(limits, sequences, 2, true, true);
  EXPECT_EQ(limits.num_queries, 4);
  EXPECT_EQ(limits.num_keys, 4);
  EXPECT_EQ(table[0].query_count, 2);
  EXPECT_EQ(table[0].key_count, 2);
  EXPECT_EQ(table[0].query_position, 0);
  EXPECT_EQ(table[1].key_count, 0);
  limits = unlimited(4, 6);
  set_sequences(limits, sequences, 2, false, true);
  EXPECT_EQ(table[0].key_count, 6);
  EXPECT_EQ(table[0].query_position, 4);
  EXPECT_EQ(table[1].query_begin, 0);
}

// Without reading there are flags and no table, so that plans depend on sizes alone.
TEST(Sequences, AreNotReadForShapes) {
  const Tensor offsets = numbers({0, 3, 7});
  const Tensor positions = numbers({0, 1, 2, 3, 4, 5, -9});
  CallSequences sequences;
  sequences.query_offsets = &offsets;
  sequences.positions = &positions;
  KeyLimits limits = unlimited(7, 7);
  set_sequences(limits, sequences, 2, true, false);
  EXPECT_EQ(limits.has_table, 1);
  EXPECT_EQ(limits.table, nullptr);
  EXPECT_EQ(limits.num_queries, 7);
  EXPECT_EQ(limits.positions.given, 1);
  EXPECT_EQ(limits.positions.data, nullptr);
}

TEST(Sequences, PositionsAreAtMostTheLastOne) {
  const Tensor positions = numbers({0, 9, 10});
  const Tensor offsets = numbers({0, 3});
  std::array<Sequence, 1> table;
  CallSequences sequences;
  sequences.positions = &positions;
  sequences.query_offsets = &offsets;
  sequences.table = table.data();
  sequences.last_position = 9;
  KeyLimits limits = unlimited(3, 3);
  EXPECT_EQ(failure_of([&] { set_sequences(limits, sequences, 1, true, true); }).text,
            "inputs->sequences->positions[2] is 10, expected a position from 0 to 9");
  sequences.last_position = 10;
  set_sequences(limits, sequences, 1, true, true);
  EXPECT_EQ(position_of_query(limits, 0, 2), 10);
}

}  // namespace
}  // namespace heed
