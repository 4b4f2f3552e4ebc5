// SPDX-License-Identifier: Apache-2.0
// The options of a cache, and what follows from them: how its memory is divided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rounding.h"
#include "ops/cached_keys.h"
#include "tensor/dtype.h"

namespace heed {

// The numbers of HEED_CACHE_CONTIGUOUS and so on; capi/src asserts it.
enum class CacheLayout : int32_t { Contiguous = 0, Ring = 1, Paged = 2 };

// The members of heed_cache_options; 0 means the default.
struct CacheOptions {
  int64_t num_layers = 0;
  int64_t max_sequences = 0;
  int64_t num_kv_heads = 0;
  int64_t head_size = 0;
  int64_t value_head_size = 0;
  int64_t capacity = 0;
  int64_t num_sinks = 0;
  int64_t page_size = 0;
  int64_t num_pages = 0;
  CacheLayout layout = CacheLayout::Contiguous;
  DType dtype = DType::F32;
  bool unrotated_keys = false;
  // [num_layers], of the caller: what each layer sees of a sequence at most; 0: all. Null: all of them see all.
  const int64_t* layer_capacities = nullptr;
};

// The most rows of a sequence.
inline constexpr int64_t kMaxCacheRows = INT32_MAX;
// Rows that a ring keeps beside those that a query sees, at least.
inline constexpr int64_t kRingSlack = 64;

// Fills in the defaults, and drops layer_capacities where no layer gets a ring of its own. Throws InvalidArgument that names the member of `options`.
CacheOptions with_defaults(const CacheOptions& given);

// Layers that keep as many rows of a sequence as each other.
struct CacheGroup {
  int64_t num_layers = 0;
  int64_t window = 0;  // each has a ring for a window of that many rows; 0: as the layout says
};
// The window of a layer that has a ring of its own, since that takes less memory than `capacity` rows; else 0.
int64_t window_of(const CacheOptions& options, int64_t layer);
// The groups by rising windows. `options`: from with_defaults.
std::vector<CacheGroup> groups_of(const CacheOptions& options);

// How the memory of a group of layers is divided. A page holds rows of one sequence in all layers of the group: in host memory the only page of a
// sequence in contiguous caches and rings. Each layer has its part of each page (ops/cached_keys.h).
struct CacheGeometry {
  CacheForm form = CacheForm::Tiles;
  int64_t page_rows = 0;  // a multiple of kCacheTileRows
  int64_t num_pages = 0;
  int64_t sequence_pages = 0;  // the most of a sequence
  int64_t max_rows = 0;        // the most of a sequence
  // In a ring, rows from sink_rows on repeat after ring_rows; else 0. Both are multiples of kCacheTileRows.
  int64_t sink_rows = 0;
  int64_t ring_rows = 0;
  int64_t visible_rows = 0;    // in a ring the rows that a query sees besides the sinks, its own included; else 0
  bool serves_window = false;  // a ring of CacheGroup::window: it only stores what the layer's own window leaves
  int64_t values_offset = 0;
  int64_t key_scales_offset = 0;
  int64_t value_scales_offset = 0;
  int64_t head_bytes = 0;
  int64_t page_bytes = 0;        // of one layer; in rows: of its keys
  int64_t value_page_bytes = 0;  // in rows: of the values of a page
  int64_t layer_bytes = 0;       // of all pages of one layer
  int64_t num_bytes = 0;         // of all layers
  int64_t table_bytes = 0;       // of everything else that a cache keeps for them

  // Where a row is, counted through the pages of its sequence: in a ring, rows after the sinks repeat.
  int64_t stored_row(int64_t row) const {
    return ring_rows == 0 || row < sink_rows ? row : sink_rows + (row - sink_rows) % ring_rows;
  }
  // The rows of the window that all layers of the group have; 0: none.
  int64_t window() const { return serves_window ? visible_rows : 0; }
  // The pages that a sequence of that length needs.
  int64_t pages_for(int64_t length) const {
    return ring_rows > 0 ? (length > 0 ? 1 : 0) : divide_up(length, page_rows);
  }
};

// The largest number of rows of all pages of a cache in rows: each is numbered in 32 bits.
inline constexpr int64_t kMaxRowsOfPages = INT32_MAX;

// `options`: from with_defaults. `device_page_rows`: 0 for a cache in host memory, otherwise the rows of a page in a
// device's memory, of options.page_size rows if it is paged. Throws InvalidArgument if a size overflows.
CacheGeometry geometry_of(const CacheOptions& options, const CacheGroup& group, int64_t device_page_rows);
// The bytes of the pages of all groups. Throws InvalidArgument if they overflow.
int64_t num_bytes_of(const std::vector<CacheGeometry>& groups);

}  // namespace heed
