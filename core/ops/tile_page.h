// SPDX-License-Identifier: Apache-2.0
// Where the parts of a key head are in a page of tiles (ops/cached_keys.h).
#pragma once

#include <cstdint>

#include "base/memory.h"
#include "base/rounding.h"
#include "ops/cached_keys.h"
#include "tensor/dtype.h"

namespace heed {

// In bytes from the head's first byte.
struct TilePage {
  int64_t values_offset = 0;
  int64_t key_scales_offset = 0;
  int64_t value_scales_offset = 0;
  int64_t head_bytes = 0;
};

// `page_rows`: a multiple of kCacheTileRows. The result must not overflow.
inline TilePage tile_page(int64_t page_rows, int64_t head_size, int64_t value_head_size, DType dtype) {
  const auto element = static_cast<int64_t>(size_of(dtype));
  const int64_t scale = dtype == DType::I8 ? static_cast<int64_t>(sizeof(float)) : 0;
  const auto aligned = [](int64_t bytes) { return round_up(bytes, static_cast<int64_t>(kMemoryAlignment)); };
  TilePage page;
  page.values_offset = aligned(page_rows * head_size * element);
  page.key_scales_offset = page.values_offset + aligned(page_rows * value_head_size * element);
  page.value_scales_offset = page.key_scales_offset + aligned(page_rows * scale);
  page.head_bytes = page.value_scales_offset + aligned(page_rows * scale);
  return page;
}

// The first element of the key of a row of the page; those that follow are kCacheTileRows elements apart.
inline int64_t key_in_tiles(int64_t row, int64_t head_size) {
  return row / kCacheTileRows * kCacheTileRows * head_size + row % kCacheTileRows;
}

}  // namespace heed
