// SPDX-License-Identifier: Apache-2.0
// The bytes that the elements of a strided tensor lie in.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace heed {

// The memory from the first byte of the lowest element of a tensor to the last byte of the highest.
struct ByteSpan {
  int64_t before = 0;  // bytes before the element at index (0, 0, ...)
  int64_t num_bytes = 0;
};

// Of a tensor with at least one element.
ByteSpan byte_span_of(const Tensor& tensor);

}  // namespace heed
