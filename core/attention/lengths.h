// SPDX-License-Identifier: Apache-2.0
// valid_lens, which may be F32, I32 or I64: checking them, and reading one.
#pragma once

#include <cstdint>

#include "attention/problem.h"

namespace heed {

class Tensor;

// What lengths are for: rows (batch, num_queries), each with num_keys keys.
struct LengthsFor {
  int64_t batch = 0;
  int64_t num_queries = 0;
  int64_t num_keys = 0;
};

// The operand of valid_lens, axes (b, -, q, -), from a tensor (batch) or (batch, num_queries) in the host's memory.
// Throws InvalidArgument for another dtype or shape and, where `read` and there are data, for an element that is no
// length; without `read` the operand has no data. `name` is the argument's.
Operand lengths_operand(const Tensor& lens, const char* name, const LengthsFor& rows, bool read);

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
