// SPDX-License-Identifier: Apache-2.0
// Copies of elements between strided arrays, with conversion and broadcasting, on one device or between two. On the
// host nothing here allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tensor/tensor.h"

namespace heed {

// destination[i] = source[i], converted as heed_tensor_copy says; the source is broadcast. Throws InvalidArgument if
// the shapes do not broadcast or the tensors overlap.
void copy_tensor(const Tensor& destination, const Tensor& source);

// Copies to and from dense host memory of the tensor's dtype in row-major order, without conversion.
void read_tensor(const Tensor& tensor, void* destination);
void write_tensor(const Tensor& tensor, const void* source);

// The same for the elements `first` to `first + num_elements - 1` of the row-major order, so that a tensor of any size
// can pass through a small buffer. The tensor must be on the host, have data and, for write_elements, be writable.
void read_elements(const Tensor& tensor, int64_t first, int64_t num_elements, void* destination);
void write_elements(const Tensor& tensor, int64_t first, int64_t num_elements, const void* source);

// Converts `count` elements, which lie `step` bytes apart on each side.
void convert_elements(DType to, void* destination, int64_t destination_step, DType from, const void* source,
                      int64_t source_step, int64_t count);

// A dense copy converted to `dtype`.
Tensor converted_copy(std::shared_ptr<const Memory> memory, const Tensor& source, DType dtype);

}  // namespace heed
