// SPDX-License-Identifier: Apache-2.0
// The weighted sum of rows, and the sum of two. Lanes are adjacent elements.
#pragma once

#include "backends/cpu/kernels/attention/row_parts-inl.h"
#include "backends/cpu/kernels/rows/rows.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// The sum of weight(n) * part(n) for n < num_parts: each element is one chain of FMAs in the order of the parts.
template <typename Weight, typename Part>
HEED_INLINE Vec weighted_sum(int64_t num_parts, const Weight& weight, const Part& part) {
  Vec sum{};
  for (int64_t n = 0; n < num_parts; ++n) sum = fma(broadcast(weight(n)), part(n), sum);
  return sum;
}

static void merge_row(const MergeArguments* arguments) {
  for (int64_t i = 0; i < arguments->count; i += kLanes) {
    const int64_t count = smaller(arguments->count - i, kLanes);
    const Vec sum = weighted_sum(
        arguments->num_parts, [&](int64_t n) __attribute__((always_inline)) { return arguments->weights[n]; },
        [&](int64_t n) __attribute__((always_inline)) { return load_row_part(arguments->parts[n], i, count); });
    store_row_part(arguments->output, i, count, sum);
  }
}

// output[i] = a[i] + b[i]
static void add_row(const StridedRow* a, const StridedRow* b, const StridedRow* output, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t part = smaller(count - i, kLanes);
    store_row_part(*output, i, part, load_row_part(*a, i, part) + load_row_part(*b, i, part));
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
