// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensor/convert.h"
#include "tensor/tensor.h"

namespace heed {

// The element of a tensor in host memory at an offset, which counts elements.
inline double element_of(const Tensor& tensor, int64_t offset) {
  return visit_dtype(tensor.dtype(), [&]<typename Element>(const Element*) {
    return static_cast<double>(detail::carry(reinterpret_cast<const Element*>(tensor.data())[offset]));
  });
}

}  // namespace heed
