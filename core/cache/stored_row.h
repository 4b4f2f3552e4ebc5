// SPDX-License-Identifier: Apache-2.0
// Where a row of a cache is in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache/cache.h"

namespace heed {

// One row of one key head.
struct StoredRow {
  std::byte* key = nullptr;    // element d is d * kCacheTileRows elements behind it
  std::byte* value = nullptr;  // contiguous
  float* key_scale = nullptr;  // for I8, else null
  float* value_scale = nullptr;
};

// `row`: one that the sequence has pages for.
StoredRow stored_row_of(const Cache& cache, int64_t layer, int64_t sequence, int64_t head, int64_t row);

}  // namespace heed
