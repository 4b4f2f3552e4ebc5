// SPDX-License-Identifier: Apache-2.0
// The sources of a parameter's new value: a tensor in a file, a tensor in memory, or random numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/call_progress.h"
#include "tensor/dtype.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace heed {

// Rows of contiguous elements; `stride` is the distance between the beginnings of two rows, in elements.
struct ElementRows {
  const std::byte* data = nullptr;
  int64_t stride = 0;
};

// A matrix whose element (row, column) has the index row * row_stride + column * column_stride. A vector is a matrix
// with one row.
class ElementSource {
 public:
  ElementSource(DType dtype, int64_t row_stride, int64_t column_stride)
      : dtype_(dtype), row_stride_(row_stride), column_stride_(column_stride) {}
  ElementSource(const ElementSource&) = delete;
  ElementSource& operator=(const ElementSource&) = delete;
  virtual ~ElementSource() = default;

  DType dtype() const { return dtype_; }
  int64_t row_stride() const { return row_stride_; }
  int64_t column_stride() const { return column_stride_; }

  // Returns num_rows rows of `count` contiguous elements. The first row begins at index `first`, each next one `stride`
  // later. They point into the source, or are written to `buffer` without gaps. Called from many threads at once.
  virtual ElementRows rows(int64_t first, int64_t num_rows, int64_t stride, int64_t count, std::byte* buffer) const = 0;

 private:
  DType dtype_;
  int64_t row_stride_;
  int64_t column_stride_;
};

// The elements of a file's tensor from index `offset` on. Throws what SafetensorsFile::read and the progress throw.
class FileElements final : public ElementSource {
 public:
  FileElements(const SafetensorsFile& file, const SafetensorsEntry& entry, int64_t offset, int64_t row_stride,
               int64_t column_stride, CallProgress* progress = nullptr)
      : ElementSource(entry.dtype, row_stride, column_stride),
        file_(file),
        entry_(entry),
        offset_(offset),
        progress_(progress) {}

  ElementRows rows(int64_t first, int64_t num_rows, int64_t stride, int64_t count, std::byte* buffer) const override;

 private:
  const SafetensorsFile& file_;
  const SafetensorsEntry& entry_;
  int64_t offset_;
  CallProgress* progress_;
};

// Blocks of another source, whose columns are contiguous, as one matrix without gaps: block i has the elements from
// index first + i * step on. Each block holds whole rows.
class BlockElements final : public ElementSource {
 public:
  BlockElements(const ElementSource& whole, int64_t first, int64_t block, int64_t step)
      : ElementSource(whole.dtype(), whole.row_stride(), 1), whole_(whole), first_(first), block_(block), step_(step) {}

  ElementRows rows(int64_t first, int64_t num_rows, int64_t stride, int64_t count, std::byte* buffer) const override;

 private:
  const ElementSource& whole_;
  int64_t first_;
  int64_t block_;
  int64_t step_;
};

// The elements of a tensor of rank 1 or 2 in host memory; the tensor must outlive this object.
class TensorElements final : public ElementSource {
 public:
  explicit TensorElements(const Tensor& tensor);

  ElementRows rows(int64_t first, int64_t num_rows, int64_t stride, int64_t count, std::byte* buffer) const override;

 private:
  const Tensor& tensor_;
};

// Normal random numbers (base/normal.h) times `deviation`, in F32. Each counts as element_bytes bytes of the progress. Throws
// what this throws.
class DrawnElements final : public ElementSource {
 public:
  DrawnElements(uint64_t seed, uint32_t stream, double deviation, int64_t num_columns, CallProgress* progress = nullptr,
                int64_t element_bytes = 0)
      : ElementSource(DType::F32, num_columns, 1),
        seed_(seed),
        stream_(stream),
        deviation_(deviation),
        progress_(progress),
        element_bytes_(element_bytes) {}

  ElementRows rows(int64_t first, int64_t num_rows, int64_t stride, int64_t count, std::byte* buffer) const override;

 private:
  uint64_t seed_;
  uint32_t stream_;
  double deviation_;
  CallProgress* progress_;
  int64_t element_bytes_;
};

}  // namespace heed
