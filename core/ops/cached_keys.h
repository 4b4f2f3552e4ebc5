// SPDX-License-Identifier: Apache-2.0
// Keys and values that an attention reads from a cache: where their rows are, and which of them are kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/operand.h"
#include "ops/sequence.h"
#include "tensor/dtype.h"

namespace heed {

// Functions that kernels call are always inline, so that the objects of several ISAs share no symbol.

// In host memory, rows are stored in tiles of this many consecutive rows of a sequence. The keys of a tile are transposed,
// [d][row], so that the scores of a tile are sums of whole vectors, and its values are [row][d].
inline constexpr int64_t kCacheTileRows = 16;

// How a cache's memory is divided. Tiles: a page holds the tiles of each key head. Rows, in the memory of a device: keys are
// [page][row][kv head][d], and so are values, behind the keys of all pages.
enum class CacheForm : int32_t { Tiles = 0, Rows = 1 };

// One batch element of a call with a cache, or of one whose rows have positions that do not continue. The latter has the
// positions alone.
struct CachedElement {
  const int32_t* pages = nullptr;  // the pages of its sequence, in order; they outlive the call
  // Rows 0 .. num_sinks - 1 and first .. key_count - 1 are kept. Others are hidden.
  int64_t num_sinks = 0;
  int64_t first = 0;
  // [key_count], the position of each row, in host memory that outlives the call. Null if row k has the position
  // key_position + k of the element's Sequence.
  const int32_t* positions = nullptr;
  // [query_count], the position of each query, likewise. Null if query q has the position query_position + q.
  const int32_t* query_positions = nullptr;
};

// One layer of a cache, and the sequences of a call. A sequence is a list of pages of page_tiles tiles, or of as many rows.
// In a page of tiles each key head has its keys, its values and, for I8, the scales of both.
struct CachedKeys {
  int32_t given = 0;
  // 1: the call's keys and values are stored first, as the last query_count rows of each element.
  int32_t appends = 0;
  DType dtype = DType::F32;  // F32, F16, BF16, I8
  CacheForm form = CacheForm::Tiles;
  std::byte* memory = nullptr;  // of the layer: its part of page 0; in host memory if `form` is Tiles
  int64_t num_pages = 0;        // of the cache
  // Bytes from page to page, from head to head, and from the head's first byte to its values and scales. In rows: of keys,
  // and values_offset is that of the values of page 0.
  int64_t page_bytes = 0;
  int64_t head_bytes = 0;
  int64_t values_offset = 0;
  int64_t key_scales_offset = 0;
  int64_t value_scales_offset = 0;
  int64_t page_tiles = 0;
  // In a ring, tiles from sink_tiles on repeat after ring_tiles; 0: no ring.
  int64_t sink_tiles = 0;
  int64_t ring_tiles = 0;
  // In a ring, the rows that a query sees besides the sinks, its own included; otherwise 0.
  int64_t visible_rows = 0;
  // In a ring: how many more of them it sees where has_window compares positions, which hides all others.
  int64_t spare_rows = 0;
  int64_t max_rows = 0;  // of a sequence: no plan needs scratch for more
  // [batch], in host memory that outlives the call. May be null in problems that are only planned.
  const CachedElement* elements = nullptr;
  // axes (b, -, row, d); F32: the rotations of all rows of each sequence, by which their keys are rotated when they are
  // read (ops/rotations.h); optional. `rotary_layout` and so on are those of HeadTransform.
  Operand rotations;
  int64_t rotary_size = 0;
  int64_t rotary_offset = 0;
  int32_t rotary_layout = 0;
  // 1: the last axis of the mask, or of the bias, has the call's rows alone; all earlier rows may be attended to.
  int32_t mask_of_new_rows = 0;
  int32_t bias_of_new_rows = 0;
  // 1: the keys that a query sees are also limited by the distance of their positions: from position - window_left to
  // position + window_right.
  int32_t has_window = 0;
  // 1: there is no cache, and the positions of queries and keys are those of `elements`, in place of the ones that limits
  // and sequences say.
  int32_t has_positions = 0;
  int64_t window_left = 0;
  int64_t window_right = 0;
};

// The tile of the memory in which a tile of a sequence is stored, counted through its pages.
[[gnu::always_inline]] inline int64_t stored_tile(const CachedKeys& cached, int64_t tile) {
  if (cached.ring_tiles == 0 || tile < cached.sink_tiles) return tile;
  return cached.sink_tiles + (tile - cached.sink_tiles) % cached.ring_tiles;
}

// The tile of a page that holds a tile of a sequence, and the first byte of the page's part of a key head.
struct TileAddress {
  std::byte* head;
  int64_t tile;
};
[[gnu::always_inline]] inline TileAddress tile_address(const CachedKeys& cached, const int32_t* pages, int64_t kv_head,
                                                       int64_t tile) {
  const int64_t stored = stored_tile(cached, tile);
  const int64_t page = pages[stored / cached.page_tiles];
  return {cached.memory + page * cached.page_bytes + kv_head * cached.head_bytes, stored % cached.page_tiles};
}

// The rows of a sequence that a query sees by causal mask, window and what is kept: sinks.first .. sinks.end - 1 and
// rows.first .. rows.end - 1, which are behind them. Where has_window is 1, some of them may be hidden by their distance.
struct CachedRange {
  KeyRange sinks;
  KeyRange rows;
};

// `band`: the keys of the query by causal mask and window, as keys_of_query returns them. `index`: the query's own row, or
// the last row of the sequence if the query is none of its rows. In a ring a query sees no later row.
inline CachedRange kept_rows(const CachedKeys& cached, const CachedElement& element, KeyRange band, int64_t index) {
  int64_t oldest = element.first;
  if (cached.visible_rows > 0) {
    oldest = std::max(oldest, index - cached.visible_rows - cached.spare_rows + 1);
    band.end = std::max(band.first, std::min(band.end, index + 1));
  }
  CachedRange range;
  range.rows = {std::min(std::max(band.first, oldest), band.end), band.end};
  if (range.rows.first > band.first)
    range.sinks = {band.first, std::max(band.first, std::min(range.rows.first, std::min(element.num_sinks, band.end)))};
  return range;
}

}  // namespace heed
