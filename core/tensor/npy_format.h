// SPDX-License-Identifier: Apache-2.0
// Parts of the .npy format that the reader and the writer share.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensor/dtype.h"

namespace heed {

static_assert(std::endian::native == std::endian::little, "elements are read and written without swapping bytes");

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

// NumPy's name of a dtype: the byte order (< little, > big, | if there is none), the kind and the number of bytes.
// Empty if NumPy does not have the dtype.
constexpr std::string_view npy_descr(DType dtype) {
  switch (dtype) {
    case DType::F32: return "<f4";
    case DType::F16: return "<f2";
    case DType::F64: return "<f8";
    case DType::I32: return "<i4";
    case DType::I64: return "<i8";
    case DType::I8: return "|i1";
    case DType::U8: return "|u1";
    case DType::Bool: return "|b1";
    case DType::BF16: break;
  }
  return {};
}

// The size of the buffer that is used if the elements have another order in the tensor than in the file. A multiple of
// every element size.
inline constexpr size_t kNpyBufferBytes = size_t{1} << 16;

// How many elements one buffer holds.
constexpr int64_t npy_buffer_elements(DType dtype) { return static_cast<int64_t>(kNpyBufferBytes / size_of(dtype)); }

}  // namespace heed
