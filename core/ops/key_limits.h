// SPDX-License-Identifier: Apache-2.0
// What decides which keys the queries of a call see, apart from masks and biases.
#pragma once

#include <cstdint>

#include "ops/operand.h"

namespace heed {

// What decides which keys a query sees, but for masks and biases (attention/visible_keys.h): key k is visible to query q
// of batch element b only if k is less than the length of (b, q) and q + band_first <= k <= q + band_last.
struct KeyLimits {
  int64_t num_queries = 0;
  int64_t num_keys = 0;
  int64_t band_first = 0;
  int64_t band_last = 0;
  Operand valid_lens;  // axes (b, -, q, -), as in AttentionProblem
};

// Rows of each batch element that a linear operation computes, where its rows are keys or values of an attention.
enum class WantedRows : int32_t {
  All = 0,
  // From the first to the last key that some query of the element sees.
  Visible = 1,
  // Those; and all rows of an element that has a query which sees no key, since such a query averages all values.
  VisibleOrMean = 2,
};

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
