// SPDX-License-Identifier: Apache-2.0
#include "cache/pages_image.h"

#include "base/rounding.h"
#include "cache/cache.h"
#include "ops/tile_page.h"

namespace heed {
namespace {

StoredRow row_in_tiles(const Cache& cache, const CacheGeometry& geometry, std::byte* page, int64_t head,
                       int64_t in_page) {
  const CacheOptions& options = cache.options();
  const auto element = static_cast<int64_t>(size_of(options.dtype));
  std::byte* base = page + head * geometry.head_bytes;
  StoredRow result;
  result.key = base + key_in_tiles(in_page, options.head_size) * element;
  result.key_step = static_cast<size_t>(element * kCacheTileRows);
  result.value = base + geometry.values_offset + in_page * options.value_head_size * element;
  if (options.dtype == DType::I8) {
    result.key_scale = reinterpret_cast<float*>(base + geometry.key_scales_offset) + in_page;
    result.value_scale = reinterpret_cast<float*>(base + geometry.value_scales_offset) + in_page;
  }
  return result;
}

}  // namespace

PagesImage::PagesImage(const Cache& cache, int64_t layer, int64_t sequence, int64_t first, int64_t end,
                       Contents contents)
    : cache_(&cache),
      layer_(layer),
      sequence_(sequence),
      first_page_(first / cache.geometry(layer).page_rows),
      num_pages_(first < end ? divide_up(end, cache.geometry(layer).page_rows) - first_page_ : 0),
      copy_(cache.context()->host_allocator()) {
  if (cache.geometry(layer).form == CacheForm::Tiles) return;
  copy_.resize(
      static_cast<size_t>(num_pages_ * (cache.geometry(layer).page_bytes + cache.geometry(layer).value_page_bytes)));
  if (contents == Contents::Undefined) return;
  visit_pages([&](const std::byte* on_device, std::byte* copy, size_t num_bytes) {
    cache.memory().copy(copy, on_device, num_bytes, Direction::ToHost);
  });
}

template <typename Visit>
void PagesImage::visit_pages(const Visit& visit) const {
  const CacheGeometry& geometry = cache_->geometry(layer_);
  std::byte* memory = cache_->layer_memory(layer_);
  std::byte* values = copy_.data() + num_pages_ * geometry.page_bytes;
  for (int64_t i = 0; i < num_pages_; ++i) {
    const int64_t page = cache_->pages_of(layer_, sequence_)[first_page_ + i];
    visit(memory + page * geometry.page_bytes, copy_.data() + i * geometry.page_bytes,
          static_cast<size_t>(geometry.page_bytes));
    visit(memory + geometry.values_offset + page * geometry.value_page_bytes, values + i * geometry.value_page_bytes,
          static_cast<size_t>(geometry.value_page_bytes));
  }
}

StoredRow PagesImage::row(int64_t head, int64_t row) const {
  const CacheOptions& options = cache_->options();
  const CacheGeometry& geometry = cache_->geometry(layer_);
  const int64_t stored = geometry.stored_row(row);
  const int64_t page = stored / geometry.page_rows;
  const int64_t in_page = stored % geometry.page_rows;
  if (geometry.form == CacheForm::Tiles) {
    std::byte* memory = cache_->layer_memory(layer_) + cache_->pages_of(layer_, sequence_)[page] * geometry.page_bytes;
    return row_in_tiles(*cache_, geometry, memory, head, in_page);
  }
  const auto element = static_cast<int64_t>(size_of(options.dtype));
  const int64_t index = in_page * options.num_kv_heads + head;
  StoredRow result;
  result.key = copy_.data() + (page - first_page_) * geometry.page_bytes + index * options.head_size * element;
  result.key_step = static_cast<size_t>(element);
  result.value = copy_.data() + num_pages_ * geometry.page_bytes + (page - first_page_) * geometry.value_page_bytes +
                 index * options.value_head_size * element;
  return result;
}

void PagesImage::commit() const {
  if (cache_->geometry(layer_).form == CacheForm::Tiles) return;
  visit_pages([&](std::byte* on_device, const std::byte* copy, size_t num_bytes) {
    cache_->memory().copy(on_device, copy, num_bytes, Direction::ToDevice);
  });
}

}  // namespace heed
