// SPDX-License-Identifier: Apache-2.0
// Tensors at the limits: the last byte, the first axis, all eight axes, sizes of 0 and 1.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "plain_memory.h"
#include "tensor/copy.h"
#include "tensor/fill.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

constexpr int64_t kHuge = INT64_MAX;

std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.text;
  }
  return "";
}

Tensor wrapped(const Shape& shape, const Dims& strides, void* data, DType dtype = DType::U8) {
  return Tensor::wrap(plain_memory(), dtype, shape, &strides, data);
}

TEST(Tensor, IsTheSameAsAnotherByAddressDtypeShapeAndStrides) {
  const Tensor tensor = Tensor::zeros(plain_memory(), DType::F32, {2, 1, 3});
  EXPECT_TRUE(tensor.is_same_as(tensor));
  EXPECT_TRUE(tensor.is_same_as(tensor.read_only()));
  const Dims strides = {3, 77, 1};  // the stride of an axis of size 1 does not matter
  EXPECT_TRUE(tensor.is_same_as(tensor.view({2, 1, 3}, &strides, 0)));
  const Tensor row = tensor.slice(0, 0, 1).reshape({1, 3});
  EXPECT_NE(row.transpose(nullptr).stride(1), row.reshape({3, 1}).stride(1));
  EXPECT_TRUE(row.transpose(nullptr).is_same_as(row.reshape({3, 1})));
  const Dims repeated = {0, 3, 1};
  EXPECT_FALSE(tensor.is_same_as(tensor.view({2, 1, 3}, &repeated, 0)));
  EXPECT_FALSE(tensor.is_same_as(tensor.view({1, 1, 3}, nullptr, 0)));
  EXPECT_FALSE(tensor.slice(0, 0, 1).is_same_as(tensor.slice(0, 1, 1)));
  EXPECT_FALSE(tensor.is_same_as(tensor.reshape({2, 3})));
  EXPECT_FALSE(tensor.is_same_as(Tensor::zeros(plain_memory(), DType::F32, {2, 1, 3})));
  EXPECT_TRUE(tensor.is_same_as(wrapped({2, 1, 3}, tensor.strides(), tensor.data(), DType::F32)));
  EXPECT_FALSE(tensor.is_same_as(wrapped({2, 1, 3}, tensor.strides(), tensor.data(), DType::I32)));
  // Shape-only tensors are the same if they were made as one.
  const Tensor shape_only = Tensor::wrap(plain_memory(), DType::F32, {2, 3}, nullptr, nullptr);
  EXPECT_TRUE(shape_only.is_same_as(shape_only.read_only()));
  EXPECT_FALSE(shape_only.is_same_as(Tensor::wrap(plain_memory(), DType::F32, {2, 3}, nullptr, nullptr)));
}

TEST(TensorBounds, ViewsReachTheLastByteAndNoFurther) {
  const Tensor bytes = Tensor::zeros(plain_memory(), DType::U8, {5});
  EXPECT_EQ(bytes.view({5}, nullptr, 0).data(), bytes.data());
  EXPECT_EQ(
      refusal_of([&] { bytes.view({5}, nullptr, 1); }),
      "offset is 1, from where a view of dims (5) would reach from byte 1 to 6, expected it inside the 5 bytes of "
      "the storage");
  EXPECT_EQ(refusal_of([&] { bytes.view({5}, nullptr, -1); }),
            "offset is -1, from where a view of dims (5) would reach from byte -1 to 4, expected it inside the 5 bytes "
            "of the storage");
}

TEST(TensorBounds, TheStorageOfAReversedTensorIsAllItsElements) {
  float memory[4] = {0, 1, 2, 3};
  const Tensor reversed = wrapped({4}, {-1}, memory + 3, DType::F32);
  EXPECT_EQ(reversed.view({4}, nullptr, -3).data(), static_cast<void*>(memory));
  EXPECT_NE(refusal_of([&] { reversed.view({4}, nullptr, -4); }), "");
  EXPECT_NE(refusal_of([&] { reversed.view({5}, nullptr, -3); }), "");
}

TEST(TensorBounds, ATensorWithoutMemoryHasNoElementsToView) {
  const Tensor empty = Tensor::wrap(plain_memory(), DType::F32, {0}, nullptr, nullptr);
  EXPECT_EQ(
      refusal_of([&] { empty.view({1}, nullptr, 0); }),
      "offset is 0, from where a view of dims (1) would reach from byte 0 to 4, expected it inside the 0 bytes of "
      "the storage");
}

TEST(TensorBounds, SlicesEndAtTheEndOfTheAxis) {
  const Tensor tensor = Tensor::zeros(plain_memory(), DType::F32, {2, 3});
  EXPECT_EQ(tensor.slice(1, 3, 0).dim(1), 0);
  EXPECT_EQ(refusal_of([&] { tensor.slice(1, 4, 0); }), "start is 4, expected -3 to 3 for axis 1 of the tensor (2, 3)");
  EXPECT_EQ(refusal_of([&] { tensor.slice(1, 2, 2); }),
            "length is 2, expected 0 to 1 from start 2 on axis 1 of the tensor (2, 3)");
}

TEST(TensorBounds, ASliceWithoutElementsStaysAtTheOrigin) {
  const Tensor tensor = Tensor::zeros(plain_memory(), DType::F32, {2, 3});
  EXPECT_EQ(tensor.slice(1, 3, 0).data(), tensor.data());
  EXPECT_EQ(tensor.slice(1, 2, 1).data(), tensor.data() + 2 * sizeof(float));
  const Tensor empty = Tensor::zeros(plain_memory(), DType::F32, {0, 3});
  EXPECT_EQ(empty.slice(1, 2, 1).data(), empty.data());
}

TEST(TensorBounds, StridesWithoutASecondElementAreRowMajor) {
  float memory[3] = {};
  EXPECT_EQ(wrapped({1, 3}, {77, 1}, memory, DType::F32).stride(0), 3);
  const Tensor empty = Tensor::zeros(plain_memory(), DType::F32, {2, 0, 3});
  EXPECT_EQ(empty.stride(0), 3);
  EXPECT_EQ(empty.stride(1), 3);
  EXPECT_EQ(empty.stride(2), 1);
  EXPECT_EQ(Tensor::zeros(plain_memory(), DType::F32, {2, 3}).reshape({2, 3, 1}).stride(2), 1);
}

TEST(TensorBounds, AZeroDoesNotHideThatOtherDimsOverflow) {
  EXPECT_EQ(refusal_of([] {
              Tensor::wrap(plain_memory(), DType::U8, {kHuge, 2, 0}, nullptr, nullptr);
            }),
            "dims is (9223372036854775807, 2, 0), whose product overflows, expected at most 2^63 - 1 elements");
}

TEST(TensorBounds, AxesAreCheckedFromTheFirstOn) {
  const Tensor tensor = Tensor::zeros(plain_memory(), DType::F32, {2, 3, 4});
  const int32_t beyond[] = {3, 1, 2};
  EXPECT_EQ(refusal_of([&] { tensor.transpose(beyond); }), "axes[0] is 3, expected -3 to 2 for a tensor of rank 3");
  const int32_t twice[] = {1, 1, 0};
  EXPECT_EQ(refusal_of([&] { tensor.transpose(twice); }),
            "axes[1] is 1, an axis that is named before it, expected each of the 3 axes once");
  const int32_t good[] = {2, 0, 1};
  EXPECT_EQ(tensor.transpose(good).shape(), (Shape{4, 2, 3}));
}

TEST(TensorBounds, ReshapeOfStridesAtTheLimitIsDecidedWithoutOverflow) {
  // Shape-only, since such a tensor would not fit in memory.
  const Tensor wide = wrapped({2, 2}, {1, kHuge / 2}, nullptr);
  EXPECT_EQ(
      refusal_of([&] { wide.reshape({4}); }),
      "a tensor of dims (2, 2) with these strides has no view of dims (4): copy it into a row-major tensor first");
  const Tensor line = wrapped({2}, {kHuge / 2 + 1}, nullptr);
  const Tensor raised = line.reshape({1, 2});
  EXPECT_EQ(raised.stride(0), 1);
  EXPECT_EQ(raised.stride(1), kHuge / 2 + 1);
}

TEST(TensorBounds, EightAxesAreSupported) {
  const Shape shape{2, 1, 2, 1, 2, 1, 2, 3};
  std::vector<float> memory(48);
  std::iota(memory.begin(), memory.end(), 0.0f);
  // The strides of a row-major tensor, but passed explicitly.
  const Dims strides = row_major_strides(shape, DType::F32);
  const Tensor tensor = wrapped(shape, strides, memory.data(), DType::F32);
  const Tensor copy = Tensor::zeros(plain_memory(), DType::F32, shape);
  copy_tensor(copy, tensor);
  std::vector<float> elements(48);
  read_tensor(copy, elements.data());
  EXPECT_EQ(elements, memory);
  const Tensor transposed = copy.transpose(nullptr).transpose(nullptr);
  fill_tensor(transposed, 1);
  EXPECT_EQ(transposed.shape(), shape);
  EXPECT_NO_THROW(transposed.transpose(nullptr).require_writable("tensor"));
  EXPECT_EQ(refusal_of([&] { copy_tensor(copy, copy); }),
            "destination shares memory with source, expected separate tensors");
}

}  // namespace
}  // namespace heed
