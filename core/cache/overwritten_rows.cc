// SPDX-License-Identifier: Apache-2.0
#include "cache/overwritten_rows.h"

#include <algorithm>
#include <cstring>

#include "base/rounding.h"

namespace heed {

OverwrittenRows::OverwrittenRows(const Cache& cache, int64_t layer, std::span<const Cache::NewRows> rows)
    : cache_(&cache), layer_(layer), rows_(rows), copy_(cache.context()->host_allocator()) {
  size_t total = 0;
  visit_tiles([&](const std::byte*, size_t num_bytes) { total += num_bytes; });
  copy_.resize(total);
  std::byte* to = copy_.data();
  visit_tiles([&](const std::byte* from, size_t num_bytes) {
    std::memcpy(to, from, num_bytes);
    to += num_bytes;
  });
}

void OverwrittenRows::restore() const noexcept {
  const std::byte* from = copy_.data();
  visit_tiles([&](std::byte* to, size_t num_bytes) {
    std::memcpy(to, from, num_bytes);
    from += num_bytes;
  });
}

template <typename Visit>
void OverwrittenRows::visit_tiles(const Visit& visit) const {
  const CacheOptions& options = cache_->options();
  const CacheGeometry& geometry = cache_->geometry(layer_);
  if (geometry.ring_rows == 0) return;
  const auto element = static_cast<int64_t>(size_of(options.dtype));
  const int64_t key_bytes = kCacheTileRows * options.head_size * element;
  const int64_t value_bytes = kCacheTileRows * options.value_head_size * element;
  const int64_t scale_bytes = options.dtype == DType::I8 ? kCacheTileRows * int64_t{sizeof(float)} : 0;
  for (const Cache::NewRows& added : rows_) {
    const int64_t length = cache_->rows(layer_, added.sequence).length;
    // Rows before this one have places of their own.
    const int64_t first = std::max(length, geometry.sink_rows + geometry.ring_rows);
    const int64_t first_tile = first / kCacheTileRows;
    const int64_t num_tiles =
        std::min(divide_up(length + added.count, kCacheTileRows) - first_tile, geometry.ring_rows / kCacheTileRows);
    // A ring has one page for each sequence.
    std::byte* const page =
        cache_->layer_memory(layer_) +
        (num_tiles > 0 ? int64_t{cache_->pages_of(layer_, added.sequence)[0]} * geometry.page_bytes : int64_t{0});
    for (int64_t i = 0; i < num_tiles; ++i) {
      const int64_t tile = geometry.stored_row((first_tile + i) * kCacheTileRows) / kCacheTileRows;
      for (int64_t head = 0; head < options.num_kv_heads; ++head) {
        std::byte* const begin = page + head * geometry.head_bytes;
        const auto part = [&](int64_t offset, int64_t num_bytes) {
          if (num_bytes > 0) visit(begin + offset + tile * num_bytes, static_cast<size_t>(num_bytes));
        };
        part(0, key_bytes);
        part(geometry.values_offset, value_bytes);
        part(geometry.key_scales_offset, scale_bytes);
        part(geometry.value_scales_offset, scale_bytes);
      }
    }
  }
}

}  // namespace heed
