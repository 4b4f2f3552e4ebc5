// SPDX-License-Identifier: Apache-2.0
// Sets a row to 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/rows/rows.h"
#include "tensor/dtype.h"

namespace heed::cpu {

// 0 has no bits in any of the dtypes.
inline void clear_row(const StridedRow& row, int64_t size) {
  const size_t bytes = size_of(row.dtype);
  if (row.stride == 1) {
    std::memset(row.data, 0, static_cast<size_t>(size) * bytes);
    return;
  }
  for (int64_t i = 0; i < size; ++i)
    std::memset(static_cast<std::byte*>(row.data) + i * row.stride * static_cast<int64_t>(bytes), 0, bytes);
}

}  // namespace heed::cpu
