// SPDX-License-Identifier: Apache-2.0
// What the reader and the writer of .npy files agree on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensor/dtype.h"

namespace heed {

static_assert(std::endian::native == std::endian::little, "elements are read and written as they lie");

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

// The name of a dtype is its byte order (< little, > big, | where there is none), its kind and its bytes, here as NumPy
// writes it.
struct NpyDType {
  std::string_view descr;
  DType dtype;
};
inline constexpr NpyDType kNpyDTypes[] = {
    {"<f4", DType::F32}, {"<f2", DType::F16}, {"<f8", DType::F64}, {"<i4", DType::I32},
    {"<i8", DType::I64}, {"|i1", DType::I8},  {"|u1", DType::U8},  {"|b1", DType::Bool},
};

// What elements pass through that do not lie in a tensor as in the file; a multiple of every element's size.
inline constexpr size_t kNpyBufferBytes = size_t{1} << 16;

// How many elements one buffer holds.
constexpr int64_t npy_buffer_elements(DType dtype) { return static_cast<int64_t>(kNpyBufferBytes / size_of(dtype)); }

}  // namespace heed
