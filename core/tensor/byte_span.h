// SPDX-License-Identifier: Apache-2.0
// The bytes that the elements of a strided tensor lie in.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace heed {

// The memory from the first byte of the lowest element of a tensor to the last byte of the highest.
struct ByteSpan {
  int64_t before = 0;  // bytes before the element at index (0, 0, ...)
  int64_t num_bytes = 0;
};

// Of a tensor with at least one element.
inline ByteSpan byte_span_of(const Tensor& tensor) {
  const auto size = static_cast<int64_t>(size_of(tensor.dtype()));
  ByteSpan span{0, size};
  for (int32_t axis = 0; axis < tensor.rank(); ++axis) {
    const int64_t reach = (tensor.dim(axis) - 1) * tensor.stride(axis) * size;
    if (reach < 0) span.before -= reach;
    span.num_bytes += reach < 0 ? -reach : reach;
  }
  return span;
}

}  // namespace heed
