// SPDX-License-Identifier: Apache-2.0
#include "atb/svector.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

namespace {

using Vector = atb::SVector<int64_t>;

Vector of_size(size_t size) {
  Vector vector;
  for (size_t i = 0; i < size; ++i) vector.push_back(static_cast<int64_t>(i));
  return vector;
}

TEST(SVectorTest, ThrowsBeyondItsSize) {
  Vector vector = {1, 2};
  EXPECT_THROW(vector.at(2), std::out_of_range);
  EXPECT_THROW(vector[2], std::out_of_range);
  EXPECT_THROW(vector.insert(3, 0), std::out_of_range);
}

TEST(SVectorTest, ThrowsBeyond256Elements) {
  Vector vector = of_size(256);
  EXPECT_EQ(vector.at(255), 255);
  EXPECT_THROW(vector.push_back(0), atb::MaxSizeExceeded);
  EXPECT_THROW(vector.insert(0, 0), atb::MaxSizeExceeded);
  EXPECT_THROW(vector.resize(257), atb::MaxSizeExceeded);
  EXPECT_THROW(vector.reserve(257), atb::MaxSizeExceeded);
  EXPECT_THROW(Vector(257, 0), atb::MaxSizeExceeded);
}

TEST(SVectorTest, GrowsOntoTheHeapWithItsElements) {
  const Vector vector = of_size(65);
  for (size_t i = 0; i < 65; ++i) EXPECT_EQ(vector[i], static_cast<int64_t>(i));
  const Vector copy = vector;
  EXPECT_EQ(copy, vector);
}

TEST(SVectorTest, ReserveKeepsElementsUpTo64AndDropsThemAbove) {
  Vector vector = of_size(3);
  vector.reserve(64);
  EXPECT_EQ(vector[2], 2);
  vector.reserve(65);
  EXPECT_EQ(vector.size(), 3U);
  EXPECT_EQ(vector[2], 0);
}

TEST(SVectorTest, InsertMovesTheElementsBehind) {
  Vector vector = {1, 3};
  vector.insert(1, 2);
  EXPECT_EQ(vector, (Vector{1, 2, 3}));
}

TEST(SVectorTest, ComparesBySizeFirst) {
  EXPECT_LT((Vector{9}), (Vector{1, 2}));
  EXPECT_LT((Vector{1, 1}), (Vector{1, 2}));
  EXPECT_NE((Vector{1, 1}), (Vector{1, 2}));
}

}  // namespace
