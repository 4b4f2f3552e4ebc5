// SPDX-License-Identifier: Apache-2.0
#include "ops/lengths.h"

namespace heed {

int64_t length_of(const Operand& valid_lens, int64_t b, int64_t q) {
  const int64_t index = b * valid_lens.strides[0] + q * valid_lens.strides[2];
  switch (valid_lens.dtype) {
    case DType::F32: return static_cast<int64_t>(static_cast<const float*>(valid_lens.data)[index]);
    case DType::I32: return static_cast<const int32_t*>(valid_lens.data)[index];
    case DType::I64: return static_cast<const int64_t*>(valid_lens.data)[index];
    case DType::F16:
    case DType::BF16:
    case DType::F64:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;  // checks reject these
  }
  __builtin_unreachable();
}

}  // namespace heed
