// SPDX-License-Identifier: Apache-2.0
// Dimensions of a tensor, in a fixed array: shapes are copied in forward, which must not allocate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace heed {

// Enough for (batch, heads, blocks, ...) layouts; also what DLPack producers use in practice.
inline constexpr int32_t kMaxRank = 8;

using Dims = std::array<int64_t, kMaxRank>;

struct Shape {
  int32_t rank = 0;
  Dims dims{};

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) {
    for (int64_t size : sizes) dims[static_cast<size_t>(rank++)] = size;
  }

  int64_t operator[](int32_t axis) const { return dims[static_cast<size_t>(axis)]; }
  int64_t& operator[](int32_t axis) { return dims[static_cast<size_t>(axis)]; }

  bool operator==(const Shape& other) const {
    if (rank != other.rank) return false;
    for (int32_t axis = 0; axis < rank; ++axis) {
      if ((*this)[axis] != other[axis]) return false;
    }
    return true;
  }
};

}  // namespace heed
