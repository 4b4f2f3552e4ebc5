// SPDX-License-Identifier: Apache-2.0
// Reading valid_lens, which may be F32, I32 or I64.
#pragma once

#include <cstdint>

#include "attention/problem.h"

namespace heed {

// The length of row (b, q) of a validated problem.
inline int64_t length_of(const Operand& valid_lens, int64_t b, int64_t q) {
  const int64_t index = b * valid_lens.strides[0] + q * valid_lens.strides[2];
  switch (valid_lens.dtype) {
    case DType::I32: return static_cast<const int32_t*>(valid_lens.data)[index];
    case DType::I64: return static_cast<const int64_t*>(valid_lens.data)[index];
    default: return static_cast<int64_t>(static_cast<const float*>(valid_lens.data)[index]);
  }
}

}  // namespace heed
