// SPDX-License-Identifier: Apache-2.0
// The weighted sum of rows. Lanes are adjacent elements.
#pragma once

#include "backends/cpu/kernels/elements-inl.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/kernels/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Each element is one chain of FMAs in the order of the parts.
static void merge_row(const MergeArguments* arguments) {
  const StridedRow& output = arguments->output;
  for (int64_t i = 0; i < arguments->count; i += kLanes) {
    const int64_t count = smaller(arguments->count - i, kLanes);
    Vec sum{};
    for (int64_t n = 0; n < arguments->num_parts; ++n) {
      const StridedRow& part = arguments->parts[n];
      const char* from = static_cast<const char*>(part.data) + i * part.stride * size_of_element(part.dtype);
      const Vec elements = part.stride == 1 ? load_first_elements(from, part.dtype, count)
                                            : gather_first_elements(from, part.dtype, part.stride, count);
      sum = fma(broadcast(arguments->weights[n]), elements, sum);
    }
    char* to = static_cast<char*>(output.data) + i * output.stride * size_of_element(output.dtype);
    if (output.stride == 1) {
      store_first_elements(to, output.dtype, sum, count);
    } else {
      scatter_first_elements(to, output.dtype, output.stride, sum, count);
    }
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
