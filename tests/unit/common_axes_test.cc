// SPDX-License-Identifier: Apache-2.0
#include "layers/common_axes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "plain_memory.h"

namespace heed {
namespace {

// A tensor without memory, since only its strides are read.
Tensor shaped(const Shape& shape, const std::vector<int64_t>& strides) {
  Dims dims{};
  for (size_t axis = 0; axis < strides.size(); ++axis) dims[axis] = strides[axis];
  return Tensor::wrap(plain_memory(), DType::F32, shape, strides.empty() ? nullptr : &dims, nullptr);
}

// (size, stride of the input, stride of the output) of each axis but the last.
std::vector<std::vector<int64_t>> axes_of(const Tensor& input, const Tensor& output) {
  const CommonAxes axes = common_axes(input, output, input.rank() - 1);
  std::vector<std::vector<int64_t>> result;
  for (size_t axis = 0; axis < static_cast<size_t>(axes.sizes.rank); ++axis)
    result.push_back({axes.sizes.dims[axis], axes.input_strides[axis], axes.output_strides[axis]});
  return result;
}

using Axes = std::vector<std::vector<int64_t>>;

TEST(CommonAxes, OfRowMajorTensorsAreOne) {
  EXPECT_EQ(axes_of(shaped({2, 3, 4, 5}, {}), shaped({2, 3, 4, 7}, {})), (Axes{{24, 5, 7}}));
  EXPECT_EQ(axes_of(shaped({4, 5}, {}), shaped({4, 7}, {})), (Axes{{4, 5, 7}}));
}

TEST(CommonAxes, AreNoneForASingleRow) {
  EXPECT_EQ(axes_of(shaped({5}, {}), shaped({7}, {})), Axes{});
  EXPECT_EQ(axes_of(shaped({1, 1, 5}, {3, 9, 1}), shaped({1, 1, 7}, {})), Axes{});
}

TEST(CommonAxes, StayApartWhereOneOfTheTensorsHasAGap) {
  // The input's first two axes are swapped, the output has a gap after each row.
  EXPECT_EQ(axes_of(shaped({2, 3, 4, 5}, {20, 40, 5, 1}), shaped({2, 3, 4, 7}, {84, 28, 7, 1})),
            (Axes{{2, 20, 84}, {3, 40, 28}, {4, 5, 7}}));
  EXPECT_EQ(axes_of(shaped({2, 3, 5}, {}), shaped({2, 3, 7}, {30, 10, 1})), (Axes{{6, 5, 10}}));
  EXPECT_EQ(axes_of(shaped({2, 3, 5}, {}), shaped({2, 3, 7}, {40, 10, 1})), (Axes{{2, 15, 40}, {3, 5, 10}}));
}

TEST(CommonAxes, MergeRepeatedAndReversedAxesToo) {
  EXPECT_EQ(axes_of(shaped({2, 3, 5}, {0, 0, 1}), shaped({2, 3, 7}, {})), (Axes{{6, 0, 7}}));
  EXPECT_EQ(axes_of(shaped({2, 3, 5}, {-15, -5, 1}), shaped({2, 3, 7}, {})), (Axes{{6, -5, 7}}));
}

TEST(CommonAxes, SkipAxesOfOneWhateverTheirStrides) {
  EXPECT_EQ(axes_of(shaped({2, 1, 3, 5}, {15, 77, 5, 1}), shaped({2, 1, 3, 7}, {21, 99, 7, 1})), (Axes{{6, 5, 7}}));
}

TEST(CommonAxes, OfNoRowsAreOneOfSizeZero) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(axes_of(shaped({huge, 0, 5}, {}), shaped({huge, 0, 7}, {})), (Axes{{0, 1, 1}}));
  EXPECT_EQ(axes_of(shaped({2, 3, 0, 5}, {}), shaped({2, 3, 0, 7}, {})), (Axes{{0, 1, 1}}));
}

TEST(CommonAxes, OfAnInputWithoutElementsDoNotStep) {
  EXPECT_EQ(axes_of(shaped({2, 3, 0}, {}), shaped({2, 3, 7}, {})), (Axes{{6, 0, 7}}));
}

TEST(CommonAxes, MayBeEveryAxis) {
  const CommonAxes axes = common_axes(shaped({2, 3, 1}, {}), shaped({2, 3, 1}, {}), 3);
  EXPECT_EQ(axes.sizes, (Shape{6}));
  EXPECT_EQ(axes.input_strides[0], 1);
  EXPECT_EQ(axes.output_strides[0], 1);
}

TEST(CommonAxes, GiveTheLongestFirst) {
  CommonAxes axes;
  for (const int64_t size : {3, 9, 2, 9}) axes.append({size, 10 * size, 100 * size});
  const auto take = [&axes] {
    const CommonAxis axis = axes.take_longest();
    return std::vector<int64_t>{axis.size, axis.input_stride, axis.output_stride};
  };
  EXPECT_EQ(take(), (std::vector<int64_t>{9, 90, 900}));
  EXPECT_EQ(take(), (std::vector<int64_t>{9, 90, 900}));
  EXPECT_EQ(axes.sizes.rank, 2);
  EXPECT_EQ(take(), (std::vector<int64_t>{3, 30, 300}));
  EXPECT_EQ(take(), (std::vector<int64_t>{2, 20, 200}));
  EXPECT_EQ(take(), (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(axes.sizes.rank, 0);
}

}  // namespace
}  // namespace heed
