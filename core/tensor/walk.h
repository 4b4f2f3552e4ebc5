// SPDX-License-Identifier: Apache-2.0
// Walks several strided arrays of one shape at the same time, in row-major order. Nothing here allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tensor/shape.h"

namespace heed {

// The first `rank` axes of a shape; none if `rank` is negative.
inline Shape leading_axes(const Shape& shape, int32_t rank) {
  Shape leading = shape;
  leading.rank = rank < 0 ? 0 : rank;
  return leading;
}

// Calls visit(offsets) for each index of `shape`: offsets[i] is the offset of that element from the element at (0, 0,
// ...) in the array with strides[i], in the unit of its strides. For rank 0 it is called once; if an axis has size 0,
// never. A visit that returns false ends the walk.
template <size_t count, typename Visit>
void walk(const Shape& shape, const std::array<Dims, count>& strides, Visit visit) {
  for (int32_t axis = 0; axis < shape.rank; ++axis) {
    if (shape[axis] == 0) return;
  }
  std::array<int64_t, count> offsets{};
  Dims index{};
  while (true) {
    const std::array<int64_t, count>& here = offsets;
    if constexpr (std::is_void_v<decltype(visit(here))>) {
      visit(here);
    } else {
      if (!visit(here)) return;
    }
    int32_t axis = shape.rank - 1;
    for (; axis >= 0; --axis) {
      const auto axis_index = static_cast<size_t>(axis);
      for (size_t i = 0; i < count; ++i) offsets[i] += strides[i][axis_index];
      if (++index[axis_index] < shape[axis]) break;
      for (size_t i = 0; i < count; ++i) offsets[i] -= strides[i][axis_index] * shape[axis];
      index[axis_index] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace heed
