// SPDX-License-Identifier: Apache-2.0
// Moving elements between strided arrays, with conversion and broadcasting. Nothing here allocates.
#pragma once

#include <cstddef>
#include <memory>

#include "tensor/tensor.h"

namespace heed {

// destination[i] = source[i], converted as heed_tensor_copy says; the source broadcasts. Throws InvalidArgument for
// shapes that do not and for overlap.
void copy_tensor(const Tensor& destination, const Tensor& source);

// To and from dense host memory of the tensor's dtype in row-major order, bit by bit.
void read_tensor(const Tensor& tensor, void* destination);
void write_tensor(const Tensor& tensor, const void* source);

// A dense copy in a dtype.
Tensor converted_copy(std::shared_ptr<const Memory> memory, const Tensor& source, DType dtype);

}  // namespace heed
