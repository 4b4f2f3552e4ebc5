// SPDX-License-Identifier: Apache-2.0
#include "layers/element_source.h"

#include "base/normal.h"

namespace heed {

ElementRows FileElements::rows(int64_t first, int64_t num_rows, int64_t stride, int64_t count,
                               std::byte* buffer) const {
  const auto size = static_cast<int64_t>(size_of(dtype()));
  // Rows without gaps are read at once.
  const bool is_whole = stride == count;
  const int64_t num_reads = is_whole ? 1 : num_rows;
  const int64_t num_bytes = (is_whole ? num_rows : 1) * count * size;
  for (int64_t i = 0; i < num_reads; ++i) {
    file_.read(entry_, static_cast<uint64_t>((offset_ + first + i * stride) * size), static_cast<size_t>(num_bytes),
               buffer + i * num_bytes);
  }
  return {buffer, count};
}

TensorElements::TensorElements(const Tensor& tensor)
    : ElementSource(tensor.dtype(), tensor.rank() == 2 ? tensor.stride(0) : 0, tensor.stride(tensor.rank() - 1)),
      tensor_(tensor) {}

ElementRows TensorElements::rows(int64_t first, int64_t, int64_t stride, int64_t, std::byte*) const {
  return {tensor_.element(first), stride};
}

ElementRows DrawnElements::rows(int64_t first, int64_t num_rows, int64_t stride, int64_t count,
                                std::byte* buffer) const {
  auto* next = reinterpret_cast<float*>(buffer);
  for (int64_t row = 0; row < num_rows; ++row) {
    for (int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<uint64_t>(first + row * stride + i);
      *next++ = static_cast<float>(deviation_ * normal_number(seed_, stream_, index));
    }
  }
  return {buffer, count};
}

}  // namespace heed
