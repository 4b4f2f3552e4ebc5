// SPDX-License-Identifier: Apache-2.0
// Between the storage types of operands and the f32 that the CPU computes in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/half.h"
#include "tensor/dtype.h"

namespace heed::cpu {

// One element of F32, F16 or BF16, widened exactly.
inline float load_element(const void* data, DType dtype, int64_t index) {
  switch (dtype) {
    case DType::F16: return widen(static_cast<const Half*>(data)[index]);
    case DType::BF16: return widen(static_cast<const BFloat16*>(data)[index]);
    default: return static_cast<const float*>(data)[index];
  }
}

// Rounds to nearest even.
inline void store_element(void* data, DType dtype, int64_t index, float value) {
  switch (dtype) {
    case DType::F16: static_cast<Half*>(data)[index] = narrow_to_half(value); return;
    case DType::BF16: static_cast<BFloat16*>(data)[index] = narrow_to_bfloat16(value); return;
    default: static_cast<float*>(data)[index] = value; return;
  }
}

// destination[i * step] = source element (index + i * stride).
inline void load_row(const void* data, DType dtype, int64_t index, int64_t stride, int64_t count, float* destination,
                     int64_t step = 1) {
  for (int64_t i = 0; i < count; ++i) destination[i * step] = load_element(data, dtype, index + i * stride);
}

}  // namespace heed::cpu
