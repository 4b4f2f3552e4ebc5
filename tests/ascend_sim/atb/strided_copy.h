// SPDX-License-Identifier: Apache-2.0
// A copy between two strided arrays of one shape. All operations that only move elements are such a copy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "atb/operation_base.h"

namespace ascend_sim::atb_library {

// In elements.
using Strides = std::array<int64_t, atb::MAX_DIM>;

inline Strides dense_strides(const Dims& shape) {
  Strides strides{};
  int64_t stride = 1;
  for (uint64_t i = shape.dimNum; i-- > 0;) {
    strides[i] = stride;
    stride *= shape.dims[i];
  }
  return strides;
}

struct StridedCopy {
  Dims shape;
  size_t element_bytes;
  Strides from_strides;
  int64_t from_offset = 0;
  Strides to_strides;
  int64_t to_offset = 0;

  void run(const void* from, void* to) const {
    std::array<int64_t, atb::MAX_DIM> index{};
    const size_t num = num_elements(shape);
    int64_t from_index = from_offset;
    int64_t to_index = to_offset;
    for (size_t i = 0; i < num; ++i) {
      std::memcpy(static_cast<std::byte*>(to) + static_cast<size_t>(to_index) * element_bytes,
                  static_cast<const std::byte*>(from) + static_cast<size_t>(from_index) * element_bytes, element_bytes);
      // The next index in row-major order.
      for (uint64_t axis = shape.dimNum; axis-- > 0;) {
        from_index += from_strides[axis];
        to_index += to_strides[axis];
        if (++index[axis] < shape.dims[axis]) break;
        from_index -= from_strides[axis] * shape.dims[axis];
        to_index -= to_strides[axis] * shape.dims[axis];
        index[axis] = 0;
      }
    }
  }
};

}  // namespace ascend_sim::atb_library
