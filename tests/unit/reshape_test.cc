// SPDX-License-Identifier: Apache-2.0
// Reshape without a copy against its definition: a view exists if and only if some strides address the same elements in
// the same order, and then it has those strides.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "base/error.h"
#include "plain_memory.h"
#include "tensor/copy.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

std::vector<float> elements(const Tensor& tensor) {
  std::vector<float> result(static_cast<size_t>(tensor.num_elements()));
  read_tensor(tensor, result.data());
  return result;
}

// The only possible strides: for each axis above size 1, the distance between its first two elements in row-major
// order.
std::optional<Dims> strides_by_definition(const Tensor& tensor, const Shape& shape) {
  const std::vector<float> order = elements(tensor);  // indices in the storage, since it contains 0, 1, 2, ...
  Dims strides{};
  int64_t step = 1;
  for (int32_t axis = shape.rank - 1; axis >= 0; --axis) {
    if (shape[axis] > 1) {
      strides[static_cast<size_t>(axis)] = static_cast<int64_t>(order[static_cast<size_t>(step)] - order[0]);
    }
    step *= shape[axis];
  }
  for (size_t i = 0; i < order.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t position = 0;
    for (int32_t axis = shape.rank - 1; axis >= 0; --axis) {
      position += rest % shape[axis] * strides[static_cast<size_t>(axis)];
      rest /= shape[axis];
    }
    if (static_cast<float>(position) != order[i] - order[0]) return std::nullopt;
  }
  return strides;
}

Shape random_shape(int64_t num_elements, std::mt19937& random) {
  Shape shape;
  const auto add = [&shape](int64_t size) { shape[shape.rank++] = size; };
  while (num_elements > 1 && shape.rank < 5) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= num_elements; ++d) {
      if (num_elements % d == 0) divisors.push_back(d);
    }
    const int64_t size = divisors[random() % divisors.size()];
    add(size);
    num_elements /= size;
  }
  if (num_elements > 1 || random() % 3 == 0) add(num_elements);
  return shape;
}

TEST(Reshape, FindsAViewExactlyWhenThereIsOne) {
  std::mt19937 random(3);
  constexpr int kCases = 20'000;
  int found = 0;
  for (int i = 0; i < kCases; ++i) {
    Tensor tensor = Tensor::zeros(plain_memory(), DType::F32, {4, 1, 6, 5, 2});
    auto* data = reinterpret_cast<float*>(tensor.data());
    for (int64_t k = 0; k < tensor.num_elements(); ++k) data[k] = static_cast<float>(k);
    for (int32_t axis = 0; axis < tensor.rank(); ++axis) {
      if (random() % 4 == 0) tensor = tensor.slice(axis, 0, 1 + static_cast<int64_t>(random() % tensor.dim(axis)));
    }
    if (random() % 2 == 0) {
      int32_t axes[] = {0, 1, 2, 3, 4};
      std::swap(axes[random() % 5], axes[random() % 5]);
      tensor = tensor.transpose(axes);
    }
    const Shape shape = random_shape(tensor.num_elements(), random);
    const std::optional<Dims> expected = strides_by_definition(tensor, shape);
    found += expected.has_value() ? 1 : 0;
    try {
      const Tensor view = tensor.reshape(shape);
      ASSERT_TRUE(expected.has_value()) << to_string(tensor.shape()) << " to " << to_string(shape);
      ASSERT_EQ(view.data(), tensor.data());
      ASSERT_EQ(elements(view), elements(tensor)) << to_string(tensor.shape()) << " to " << to_string(shape);
    } catch (const Error& error) {
      ASSERT_EQ(error.status, Status::Unsupported) << error.text;
      ASSERT_FALSE(expected.has_value()) << to_string(tensor.shape()) << " to " << to_string(shape);
    }
  }
  EXPECT_GT(found, kCases / 4);
  EXPECT_LT(found, kCases * 9 / 10);
}

}  // namespace
}  // namespace heed
