// SPDX-License-Identifier: Apache-2.0
// The norms of queries and keys, head by head, in f64 with the error of an f32 engine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/attention.h"

namespace heed::reference {

struct HeadNorm {
  std::vector<double> weight;  // (D) for all heads, or (heads, D)
  double epsilon = 0;
  bool subtracts_mean = false;
};

// Normalizes each row of (B, heads, S, D) in place.
void normalize_heads(const HeadNorm& norm, int64_t num_heads, int64_t rows_of_head, int64_t head_size,
                     std::optional<Format> compute_format, Bounded& heads);

}  // namespace heed::reference
