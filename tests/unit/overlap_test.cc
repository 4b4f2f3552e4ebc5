// SPDX-License-Identifier: Apache-2.0
// The exact overlap test, compared with lists of all bytes.
#include "tensor/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "base/error.h"
#include "plain_memory.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

// The first byte of every element, relative to `base`, in row-major order of the indices.
std::vector<int64_t> addresses(const Tensor& tensor, const std::byte* base) {
  std::vector<int64_t> result;
  if (tensor.num_elements() == 0) return result;
  Dims index{};
  while (true) {
    int64_t offset = 0;
    for (int32_t axis = 0; axis < tensor.rank(); ++axis) {
      offset += index[static_cast<size_t>(axis)] * tensor.stride(axis);
    }
    result.push_back(tensor.data() - base + offset * static_cast<int64_t>(size_of(tensor.dtype())));
    int32_t axis = tensor.rank() - 1;
    for (; axis >= 0; --axis) {
      if (++index[static_cast<size_t>(axis)] < tensor.dim(axis)) break;
      index[static_cast<size_t>(axis)] = 0;
    }
    if (axis < 0) return result;
  }
}

std::set<int64_t> bytes(const Tensor& tensor, const std::byte* base) {
  std::set<int64_t> result;
  for (int64_t address : addresses(tensor, base)) {
    for (size_t byte = 0; byte < size_of(tensor.dtype()); ++byte) result.insert(address + static_cast<int64_t>(byte));
  }
  return result;
}

Tensor random_view(const Tensor& storage, std::mt19937& random, bool positive) {
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  while (true) {
    Shape shape;
    shape.rank = static_cast<int32_t>(pick(0, 4));
    Dims strides{};
    for (int32_t axis = 0; axis < shape.rank; ++axis) {
      shape[axis] = pick(1, 5);
      strides[static_cast<size_t>(axis)] = positive ? pick(1, 24) : pick(-20, 24);
    }
    try {
      return storage.view(shape, &strides, pick(0, storage.num_elements() - 1));
    } catch (const Error&) {
      // Outside the storage: try again.
    }
  }
}

TEST(Overlap, AgreesWithListingTheBytes) {
  std::mt19937 random(1);
  const auto memory = plain_memory();
  alignas(8) std::byte block[480] = {};
  const Tensor wide = Tensor::wrap(memory, DType::F32, {120}, nullptr, block);
  const Tensor narrow = Tensor::wrap(memory, DType::F16, {240}, nullptr, block);
  int shared = 0;
  constexpr int kCases = 20'000;
  for (int i = 0; i < kCases; ++i) {
    const Tensor a = random_view(random() % 2 == 0 ? wide : narrow, random, false);
    const Tensor b = random_view(random() % 2 == 0 ? wide : narrow, random, false);
    const std::set<int64_t> bytes_a = bytes(a, block);
    const std::set<int64_t> bytes_b = bytes(b, block);
    const bool expected =
        std::any_of(bytes_a.begin(), bytes_a.end(), [&bytes_b](int64_t byte) { return bytes_b.count(byte) > 0; });
    ASSERT_EQ(overlaps(a, b), expected) << "case " << i;
    shared += expected ? 1 : 0;
  }
  // Both answers must occur often enough for the test to mean something.
  EXPECT_GT(shared, kCases / 10);
  EXPECT_LT(shared, kCases * 9 / 10);
}

TEST(Overlap, OfATensorWithItselfAgreesWithListingTheElements) {
  std::mt19937 random(2);
  alignas(8) std::byte block[480] = {};
  const Tensor storage = Tensor::wrap(plain_memory(), DType::F32, {120}, nullptr, block);
  int shared = 0;
  constexpr int kCases = 20'000;
  for (int i = 0; i < kCases; ++i) {
    const Tensor tensor = random_view(storage, random, true);
    std::vector<int64_t> all = addresses(tensor, block);
    std::sort(all.begin(), all.end());
    const bool expected = std::adjacent_find(all.begin(), all.end()) != all.end();
    ASSERT_EQ(overlaps_itself(tensor), expected) << "case " << i;
    shared += expected ? 1 : 0;
  }
  EXPECT_GT(shared, kCases / 20);
  EXPECT_LT(shared, kCases * 9 / 10);
}

TEST(Overlap, ThirdsOfAPackedTensorAreSeparate) {
  const Tensor packed = Tensor::zeros(plain_memory(), DType::F32, {2, 7, 3, 64});
  EXPECT_FALSE(overlaps(packed.slice(2, 0, 1), packed.slice(2, 1, 1)));
  EXPECT_FALSE(overlaps(packed.slice(2, 0, 1), packed.slice(2, 2, 1)));
  EXPECT_TRUE(overlaps(packed.slice(2, 0, 2), packed.slice(2, 1, 1)));
  EXPECT_FALSE(overlaps_itself(packed.slice(2, 1, 1)));
}

TEST(Overlap, IsExactToTheByte) {
  std::byte memory[8] = {};
  const auto wrap = [](int64_t dim, int64_t stride, void* data) {
    const Dims strides{stride};
    return Tensor::wrap(plain_memory(), DType::U8, {dim}, &strides, data);
  };
  // Its elements are bytes 4 and 3.
  const Tensor reversed = wrap(2, -1, memory + 4);
  for (int64_t offset = 0; offset < 8; ++offset) {
    const bool inside = offset == 3 || offset == 4;
    EXPECT_EQ(overlaps(reversed, wrap(1, 1, memory + offset)), inside) << offset;
    EXPECT_EQ(overlaps(wrap(1, 1, memory + offset), reversed), inside) << offset;
    EXPECT_EQ(overlaps(reversed, memory + offset, 1), inside) << offset;
    EXPECT_FALSE(overlaps(reversed, memory + offset, 0)) << offset;
  }
  // Blocks that end where the tensor begins, or begin where it ends, do not overlap it.
  EXPECT_FALSE(overlaps(reversed, memory, 3));
  EXPECT_TRUE(overlaps(reversed, memory, 4));
  EXPECT_FALSE(overlaps(reversed, memory + 5, 3));
}

}  // namespace
}  // namespace heed
