// SPDX-License-Identifier: Apache-2.0
// The activation of one row.
#pragma once

#include "backends/cpu/kernels/rows/activation-inl.h"
#include "backends/cpu/kernels/rows/rows.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

static void activation_row(Activation activation, const StridedRow* input, const StridedRow* output, int64_t count) {
  // Elements that are in the first-level cache together, in whole vectors.
  constexpr int64_t kPart = 256;
  static_assert(kPart % kLanes == 0);
  float values[kPart] = {};
  const int64_t input_step = input->stride * size_of_element(input->dtype);
  const int64_t output_step = output->stride * size_of_element(output->dtype);
  for (int64_t i = 0; i < count; i += kPart) {
    const int64_t part = smaller(count - i, kPart);
    widen_row(static_cast<const char*>(input->data) + i * input_step, input->dtype, input->stride, part, values);
    activate_row(activation, values, part);
    narrow_row(values, part, static_cast<char*>(output->data) + i * output_step, output->dtype, output->stride);
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
