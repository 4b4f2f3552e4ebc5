// SPDX-License-Identifier: Apache-2.0
// The weighted sum of rows, and the sum of two. Lanes are adjacent elements.
#pragma once

#include "backends/cpu/kernels/attention/row_parts-inl.h"
#include "backends/cpu/kernels/rows/rows.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

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
