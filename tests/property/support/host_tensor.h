// SPDX-License-Identifier: Apache-2.0
// Tensors over memory of the test, with any strides. The memory ends where the strides end, so that a sanitizer finds
// every access outside. On a device with its own memory they are views of a copy of the same size, all of which is read
// back.
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

// Values for random calls: dtypes to compute in, layouts for inputs, and layouts for results, in which no two elements
// share memory.
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

// An input from which a tensor is made: its contents, already rounded to the dtype, and its strides.
struct Input {
  Array contents;
  heed_dtype dtype = HEED_F32;
  Dims strides;
  int64_t unused_before = 0;  // elements before its first; an odd number misaligns it for vectors
};

// Rounds the contents to the dtype. Along axes of stride 0, all elements become the one at index 0.
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

  // For an input: false if a byte changed since construction.
  bool input_is_untouched() const { return hash() == original_hash_; }
  // For results: false if a byte that belongs to no element changed since construction.
  bool padding_is_untouched() const;

 private:
  void allocate(int64_t unused_before);
  void make_tensor(heed_context* context);
  // The current contents of the memory, also if it is on the device.
  const std::vector<uint8_t>& memory() const;
  size_t hash() const;
  size_t offset_of(const Dims& index) const;  // in bytes

  heed_dtype dtype_;
  Dims dims_;
  Dims strides_;
  int64_t first_ = 0;                    // element at index (0, 0, ...)
  mutable std::vector<uint8_t> memory_;  // its own memory, or the last copy of the device's
  size_t original_hash_ = 0;             // of an input's memory at construction
  Tensor on_device_;                     // all of the memory as one axis; null if it is the host's
  Tensor tensor_;
};

}  // namespace heed::property
