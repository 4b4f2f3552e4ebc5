// SPDX-License-Identifier: Apache-2.0
#include "tensor/byte_span.h"

#include "tensor/dtype.h"

namespace heed {

ByteSpan byte_span_of(const Tensor& tensor) {
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
