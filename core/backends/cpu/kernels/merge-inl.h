// SPDX-License-Identifier: Apache-2.0
// The weighted sum of rows, and the sum of two. Lanes are adjacent elements.
#pragma once

#include "backends/cpu/kernels/elements-inl.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/kernels/simd.h"

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

// Each element is one chain of FMAs in the order of the parts.
static void merge_row(const MergeArguments* arguments) {
  for (int64_t i = 0; i < arguments->count; i += kLanes) {
    const int64_t count = smaller(arguments->count - i, kLanes);
    Vec sum{};
    for (int64_t n = 0; n < arguments->num_parts; ++n)
      sum = fma(broadcast(arguments->weights[n]), load_row_part(arguments->parts[n], i, count), sum);
    store_row_part(arguments->output, i, count, sum);
  }
}

static void add_row(const StridedRow* a, const StridedRow* b, const StridedRow* output, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t part = smaller(count - i, kLanes);
    store_row_part(*output, i, part, load_row_part(*a, i, part) + load_row_part(*b, i, part));
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
