// SPDX-License-Identifier: Apache-2.0
#include "loading/element_source.h"

#include <algorithm>
#include <cstring>

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
  if (progress_ != nullptr) progress_->add_bytes(num_reads * num_bytes);
  return {buffer, count};
}

ElementRows BlockElements::rows(int64_t first, int64_t num_rows, int64_t stride, int64_t count,
                                std::byte* buffer) const {
  const auto size = static_cast<int64_t>(size_of(dtype()));
  const auto index_in_whole = [&](int64_t index) { return first_ + index / block_ * step_ + index % block_; };
  std::byte* next = buffer;
  for (int64_t row = 0; row < num_rows;) {
    const int64_t begin = first + row * stride;
    const int64_t room = block_ - begin % block_;
    if (count <= room) {
      // As many rows as the block has from here on.
      const int64_t in_block = stride == 0 ? num_rows - row : std::min(num_rows - row, (room - count) / stride + 1);
      const ElementRows read = whole_.rows(index_in_whole(begin), in_block, stride, count, next);
      if (in_block == num_rows) return read;
      for (int64_t i = 0; i < in_block; ++i, next += count * size) {
        const std::byte* const from = read.data + i * read.stride * size;
        if (from != next) std::memmove(next, from, static_cast<size_t>(count * size));
      }
      row += in_block;
      continue;
    }
    for (int64_t done = 0; done < count;) {
      const int64_t part = std::min(count - done, block_ - (begin + done) % block_);
      const ElementRows read = whole_.rows(index_in_whole(begin + done), 1, part, part, next);
      if (read.data != next) std::memcpy(next, read.data, static_cast<size_t>(part * size));
      next += part * size;
      done += part;
    }
    ++row;
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
  if (progress_ != nullptr) progress_->add_bytes(num_rows * count * element_bytes_);
  return {buffer, count};
}

}  // namespace heed
