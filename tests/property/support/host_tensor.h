// SPDX-License-Identifier: Apache-2.0
// Tensors over memory of the test's own, with any strides: exactly as large as the strides reach, so that a sanitizer sees every step outside.
// On a device with memory of its own they are views of a copy there, as large, which is read back as a whole.
#pragma once

#include <optional>
#include <vector>

#include "reference/number_format.h"
#include "support/array.h"
#include "support/handles.h"
#include "support/random.h"

namespace heed::property {

enum class Layout {
  RowMajor,
  Transposed,  // row-major of the axes in another order
  Padded,      // row-major with unused elements after each row, matrix, ...
  Reversed,    // some strides negative
  Repeated,    // some strides zero
};

// What random calls draw from: dtypes to compute in, layouts to read, and those that can be written, where no two elements share memory.
inline const std::vector<heed_dtype> kFloats = {HEED_F32, HEED_F16, HEED_BF16};
inline const std::vector<Layout> kReadable = {Layout::RowMajor, Layout::Transposed, Layout::Padded, Layout::Reversed,
                                              Layout::Repeated};
inline const std::vector<Layout> kWritable = {Layout::RowMajor, Layout::Transposed, Layout::Padded};

Dims row_major_strides(const Dims& dims);
Dims make_strides(Layout layout, const Dims& dims, Random& random);

// The name as in HEED_F16, without the prefix.
const char* name_of(heed_dtype dtype);

// F32, F16 and BF16 only.
reference::Format format_of(heed_dtype dtype);

// An input before it is a tensor: what it holds, already rounded to the dtype, and how it lies in memory.
struct Input {
  Array contents;
  heed_dtype dtype = HEED_F32;
  Dims strides;
  int64_t unused_before = 0;  // elements of its memory; an odd number of them ends where no vector begins
};

// Rounds the contents to the dtype; where strides are 0, the elements at index 0 are repeated.
Input make_input(Array contents, heed_dtype dtype, Dims strides);
Input make_input(Array contents, heed_dtype dtype = HEED_F32);

class HostTensor {
 public:
  HostTensor(heed_context* context, const Input& input);

  // Memory for results, filled with a pattern that is NaN in every float format.
  HostTensor(heed_context* context, heed_dtype dtype, Dims dims, Dims strides, int64_t unused_before = 0);

  heed_tensor* handle() const { return tensor_.get(); }
  heed_dtype dtype() const { return dtype_; }

  Array read() const;

  // The elements' bytes in row-major order.
  std::vector<uint8_t> read_bytes() const;

  // False when a byte changed since construction; for results, one that belongs to no element.
  bool input_is_untouched() const { return memory() == original_; }
  bool padding_is_untouched() const;

 private:
  void allocate(int64_t unused_before);
  void make_tensor(heed_context* context);
  // What the memory holds now, wherever it is.
  const std::vector<uint8_t>& memory() const;
  size_t offset_of(const Dims& index) const;  // in bytes

  heed_dtype dtype_;
  Dims dims_;
  Dims strides_;
  int64_t first_ = 0;                    // element at index (0, 0, ...)
  mutable std::vector<uint8_t> memory_;  // the tensor's own, or what was last read of the device's
  std::vector<uint8_t> original_;
  Tensor on_device_;  // all of the memory as one row; null where that is the host's
  Tensor tensor_;
};

}  // namespace heed::property
