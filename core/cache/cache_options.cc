// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_options.h"

#include <algorithm>
#include <cinttypes>

#include "base/checked.h"
#include "base/error.h"
#include "base/rounding.h"
#include "cache/cache.h"
#include "ops/cached_keys.h"
#include "ops/tile_page.h"
#include "tensor/dtype_term.h"

namespace heed {
namespace {

constexpr int64_t kDefaultPageSize = 64;
constexpr int64_t kMaxHeadSize = 4096;
// Each page, sequence and layer is numbered in 32 bits.
constexpr int64_t kMaxCount = INT32_MAX;

void check_range(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most) {
    fail(Status::InvalidArgument, OPTION("%s") " is %" PRId64 ", expected %" PRId64 " to %" PRId64, name, value, least,
         most);
  }
}

void check_unused(const char* name, int64_t value, const char* layout) {
  if (value != 0) {
    fail(Status::InvalidArgument, OPTION("%s") " is %" PRId64 ", but " OPTION("layout") " is %s: expected 0", name,
         value, layout);
  }
}

const char* c_name_of(CacheLayout layout) {
  switch (layout) {
    case CacheLayout::Contiguous: return CONSTANT("HEED_CACHE_CONTIGUOUS");
    case CacheLayout::Ring: return CONSTANT("HEED_CACHE_RING");
    case CacheLayout::Paged: return CONSTANT("HEED_CACHE_PAGED");
  }
  __builtin_unreachable();  // there is no other layout
}

// Throws unless a size in bytes is at most 2^61.
void check_size(bool fits) {
  if (!fits)
    fail(Status::InvalidArgument, "options is of a cache whose size in bytes overflows, expected at most 2^61");
}

int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  check_size(checked_multiply(a, b, result) && result <= INT64_MAX / 4);
  return result;
}

}  // namespace

CacheOptions with_defaults(const CacheOptions& given) {
  CacheOptions options = given;
  const char* layout = c_name_of(options.layout);
  check_range("num_layers", options.num_layers, 0, kMaxCount);
  check_range("max_sequences", options.max_sequences, 0, kMaxCount);
  check_range("num_kv_heads", options.num_kv_heads, 1, kMaxCount);
  check_range("head_size", options.head_size, 1, kMaxHeadSize);
  check_range("value_head_size", options.value_head_size, 0, kMaxHeadSize);
  check_range("capacity", options.capacity, 1, kMaxCacheRows);
  if (options.dtype != DType::F32 && options.dtype != DType::F16 && options.dtype != DType::BF16 &&
      options.dtype != DType::I8) {
    fail(Status::InvalidArgument,
         OPTION("dtype") " is %s, expected " DTYPE("F32") ", " DTYPE("F16") ", " DTYPE("BF16") " or " DTYPE("I8"),
         term_of(options.dtype));
  }
  if (options.layout == CacheLayout::Ring)
    check_range("num_sinks", options.num_sinks, 0, kMaxCacheRows - options.capacity);
  else
    check_unused("num_sinks", options.num_sinks, layout);
  if (options.layout == CacheLayout::Paged) {
    check_range("page_size", options.page_size, 0, kMaxCacheRows);
    if (options.page_size % kCacheTileRows != 0) {
      fail(Status::InvalidArgument, OPTION("page_size") " is %" PRId64 ", expected a multiple of %" PRId64,
           options.page_size, kCacheTileRows);
    }
    check_range("num_pages", options.num_pages, 1, kMaxCount);
    if (options.page_size == 0) options.page_size = kDefaultPageSize;
  } else {
    check_unused("page_size", options.page_size, layout);
    check_unused("num_pages", options.num_pages, layout);
  }
  if (options.layout == CacheLayout::Ring && options.unrotated_keys) {
    fail(Status::Unsupported,
         OPTION("unrotated_keys") " is " FLAG("unrotated_keys", "1") ", but " OPTION("layout") " is " CONSTANT(
             "HEED_CACHE_RING") ": expected " FLAG("unrotated_keys", "0") ", since a ring drops rows itself");
  }
  if (options.num_layers == 0) options.num_layers = 1;
  for (int64_t layer = 0; options.layer_capacities != nullptr && layer < options.num_layers; ++layer) {
    const int64_t rows = options.layer_capacities[layer];
    if (rows >= 0 && rows <= kMaxCacheRows) continue;
    fail(Status::InvalidArgument,
         OPTION("layer_capacities[%" PRId64 "]") " is %" PRId64 ", expected 0 to %" PRId64 ", 0 for all rows", layer,
         rows, kMaxCacheRows);
  }
  if (options.layout == CacheLayout::Ring || options.unrotated_keys) options.layer_capacities = nullptr;
  if (options.max_sequences == 0) options.max_sequences = 1;
  if (options.value_head_size == 0) options.value_head_size = options.head_size;
  return options;
}

namespace {

int64_t ring_rows_of(int64_t visible_rows) { return round_up(visible_rows, kCacheTileRows) + kRingSlack; }

}  // namespace

int64_t window_of(const CacheOptions& options, int64_t layer) {
  const int64_t rows = options.layer_capacities != nullptr ? options.layer_capacities[layer] : 0;
  return ring_rows_of(rows) < options.capacity ? rows : 0;
}

std::vector<CacheGroup> groups_of(const CacheOptions& options) {
  if (options.layer_capacities == nullptr) return {{options.num_layers, 0}};
  std::vector<int64_t> windows;
  for (int64_t layer = 0; layer < options.num_layers; ++layer) windows.push_back(window_of(options, layer));
  std::sort(windows.begin(), windows.end());
  std::vector<CacheGroup> groups;
  for (const int64_t window : windows) {
    if (groups.empty() || groups.back().window != window) groups.push_back({0, window});
    ++groups.back().num_layers;
  }
  return groups;
}

namespace {

// Pages of keys and values of one layer in rows.
void set_rows(const CacheOptions& options, CacheGeometry& geometry) {
  const auto element = static_cast<int64_t>(size_of(options.dtype));
  const int64_t page_elements = product(geometry.page_rows, options.num_kv_heads);
  const auto of_pages = [&](int64_t page_bytes) {
    return round_up(product(geometry.num_pages, page_bytes), static_cast<int64_t>(kMemoryAlignment));
  };
  geometry.page_bytes = product(page_elements, options.head_size * element);
  geometry.value_page_bytes = product(page_elements, options.value_head_size * element);
  geometry.head_bytes = options.head_size * element;
  geometry.values_offset = of_pages(geometry.page_bytes);
  geometry.layer_bytes = geometry.values_offset + of_pages(geometry.value_page_bytes);
}

void set_tiles(const CacheOptions& options, CacheGeometry& geometry) {
  const auto element = static_cast<int64_t>(size_of(options.dtype));
  // With these the sizes of a head's parts do not overflow.
  product(geometry.page_rows, options.head_size * element);
  product(geometry.page_rows, options.value_head_size * element);
  const TilePage page = tile_page(geometry.page_rows, options.head_size, options.value_head_size, options.dtype);
  geometry.values_offset = page.values_offset;
  geometry.key_scales_offset = page.key_scales_offset;
  geometry.value_scales_offset = page.value_scales_offset;
  geometry.head_bytes = page.head_bytes;
  geometry.page_bytes = product(options.num_kv_heads, geometry.head_bytes);
  geometry.layer_bytes = product(geometry.num_pages, geometry.page_bytes);
}

}  // namespace

CacheGeometry geometry_of(const CacheOptions& options, const CacheGroup& group, int64_t device_page_rows) {
  CacheGeometry geometry;
  geometry.form = device_page_rows > 0 ? CacheForm::Rows : CacheForm::Tiles;
  geometry.max_rows = options.capacity;
  geometry.num_pages = options.max_sequences;
  geometry.sequence_pages = 1;
  geometry.serves_window = group.window > 0;
  switch (geometry.serves_window ? CacheLayout::Ring : options.layout) {
    case CacheLayout::Contiguous:
      geometry.page_rows = device_page_rows > 0 ? device_page_rows : round_up(options.capacity, kCacheTileRows);
      geometry.sequence_pages = divide_up(options.capacity, geometry.page_rows);
      geometry.num_pages = product(options.max_sequences, geometry.sequence_pages);
      break;
    case CacheLayout::Ring:
      geometry.visible_rows = geometry.serves_window ? group.window : options.capacity;
      geometry.sink_rows = round_up(options.num_sinks, kCacheTileRows);
      geometry.ring_rows = ring_rows_of(geometry.visible_rows);
      geometry.page_rows = geometry.sink_rows + geometry.ring_rows;
      if (!geometry.serves_window) geometry.max_rows = kMaxCacheRows;
      break;
    case CacheLayout::Paged:
      geometry.page_rows = options.page_size;
      geometry.num_pages = options.num_pages;
      geometry.sequence_pages = divide_up(options.capacity, options.page_size);
      break;
  }
  if (geometry.form == CacheForm::Rows)
    set_rows(options, geometry);
  else
    set_tiles(options, geometry);
  geometry.num_bytes = product(group.num_layers, geometry.layer_bytes);
  const double table_bytes = Cache::table_bytes(options, group, geometry);
  check_size(table_bytes <= 0x1p61);
  geometry.table_bytes = static_cast<int64_t>(table_bytes);
  return geometry;
}

int64_t num_bytes_of(const std::vector<CacheGeometry>& groups) {
  // Kernels read whole vectors.
  auto num_bytes = static_cast<int64_t>(kMemoryAlignment);
  for (const CacheGeometry& group : groups) {
    check_size(num_bytes <= INT64_MAX / 4);
    num_bytes += group.num_bytes;
  }
  return num_bytes;
}

}  // namespace heed
