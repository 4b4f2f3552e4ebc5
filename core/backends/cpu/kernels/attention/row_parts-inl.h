// SPDX-License-Identifier: Apache-2.0
// Loads and stores a vector's worth of elements of a strided row.
#pragma once

#include "backends/cpu/kernels/rows/rows.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Elements i .. i + count - 1 of a row.
HEED_INLINE Vec load_row_part(const StridedRow& row, int64_t i, int64_t count) {
  const char* from = static_cast<const char*>(row.data) + i * row.stride * size_of_element(row.dtype);
  return row.stride == 1 ? load_first_elements(from, row.dtype, count)
                         : gather_first_elements(from, row.dtype, row.stride, count);
}
HEED_INLINE void store_row_part(const StridedRow& row, int64_t i, int64_t count, Vec value) {
  char* to = static_cast<char*>(row.data) + i * row.stride * size_of_element(row.dtype);
  if (row.stride == 1) {
    store_first_elements(to, row.dtype, value, count);
  } else {
    scatter_first_elements(to, row.dtype, row.stride, value, count);
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
