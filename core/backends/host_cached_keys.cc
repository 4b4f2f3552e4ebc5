// SPDX-License-Identifier: Apache-2.0
#include "backends/host_cached_keys.h"

#include <algorithm>
#include <cstring>

#include "base/rounding.h"
#include "ops/tile_page.h"
#include "tensor/host_memory.h"

namespace heed {
namespace {

// A page of keys and values in rows.
struct RowsPage {
  RowsPage(const AttentionProblem& problem, const CachedKeys& cached)
      : num_key_bytes(static_cast<size_t>(cached.page_bytes)),
        num_value_bytes(static_cast<size_t>(cached.page_bytes / problem.head_size * problem.value_head_size)),
        bytes(num_key_bytes + num_value_bytes) {}

  std::byte* keys() { return bytes.data(); }
  std::byte* values() { return bytes.data() + num_key_bytes; }

  // Copies the page from the cache, or to it.
  void copy(const Memory& memory, const CachedKeys& cached, int32_t page, Direction direction) {
    const auto copy_part = [&](int64_t offset, std::byte* part, size_t num_bytes) {
      std::byte* on_device = cached.memory + offset + page * static_cast<int64_t>(num_bytes);
      const bool reads = direction == Direction::ToHost;
      memory.copy(reads ? part : on_device, reads ? on_device : part, num_bytes, direction);
    };
    copy_part(0, keys(), num_key_bytes);
    copy_part(cached.values_offset, values(), num_value_bytes);
  }

  const size_t num_key_bytes;
  const size_t num_value_bytes;
  std::vector<std::byte> bytes;
};

// Calls copy(bytes of the page in rows, bytes of the page in tiles, number of bytes) for each piece of a page.
template <typename Copy>
void visit_pieces(const AttentionProblem& problem, const CachedKeys& tiles, RowsPage& rows, std::byte* page,
                  const Copy& copy) {
  const auto element = static_cast<int64_t>(size_of(tiles.dtype));
  const int64_t value_bytes = problem.value_head_size * element;
  for (int64_t row = 0; row < tiles.page_tiles * kCacheTileRows; ++row) {
    for (int64_t head = 0; head < problem.num_kv_heads; ++head) {
      const int64_t index = row * problem.num_kv_heads + head;
      std::byte* const in_tiles = page + head * tiles.head_bytes;
      std::byte* const key = rows.keys() + index * problem.head_size * element;
      std::byte* const tile_key = in_tiles + key_in_tiles(row, problem.head_size) * element;
      for (int64_t d = 0; d < problem.head_size; ++d)
        copy(key + d * element, tile_key + d * kCacheTileRows * element, static_cast<size_t>(element));
      copy(rows.values() + index * value_bytes, in_tiles + tiles.values_offset + row * value_bytes,
           static_cast<size_t>(value_bytes));
    }
  }
}

}  // namespace

void set_tiles(const AttentionProblem& problem, CachedKeys& cached) {
  const TilePage page =
      tile_page(cached.page_tiles * kCacheTileRows, problem.head_size, problem.value_head_size, cached.dtype);
  cached.form = CacheForm::Tiles;
  cached.memory = nullptr;
  cached.page_bytes = problem.num_kv_heads * page.head_bytes;
  cached.head_bytes = page.head_bytes;
  cached.values_offset = page.values_offset;
  cached.key_scales_offset = page.key_scales_offset;
  cached.value_scales_offset = page.value_scales_offset;
}

HostCachedKeys::HostCachedKeys(const std::shared_ptr<const Memory>& memory, AttentionProblem& problem)
    : memory_(*memory), problem_(problem), on_device_(problem.cached) {
  const int64_t page_rows = on_device_.page_tiles * kCacheTileRows;
  for (int64_t b = 0; b < problem.batch; ++b) {
    const CachedElement& element = elements_.emplace_back(on_device_.elements[b]);
    const int64_t num_pages = divide_up(sequence_of(problem.limits, b).key_count, page_rows);
    pages_.insert(pages_.end(), element.pages, element.pages + num_pages);
  }
  std::sort(pages_.begin(), pages_.end());
  pages_.erase(std::unique(pages_.begin(), pages_.end()), pages_.end());
  for (int64_t b = 0; b < problem.batch; ++b) {
    std::vector<int32_t>& copied = copied_pages_.emplace_back();
    const int64_t num_pages = divide_up(sequence_of(problem.limits, b).key_count, page_rows);
    for (int64_t i = 0; i < num_pages; ++i) {
      const auto place = std::lower_bound(pages_.begin(), pages_.end(), on_device_.elements[b].pages[i]);
      copied.push_back(static_cast<int32_t>(place - pages_.begin()));
    }
    elements_[static_cast<size_t>(b)].pages = copied.data();
  }
  CachedKeys& cached = problem.cached;
  set_tiles(problem, cached);
  // Kernels read whole vectors.
  const int64_t all_bytes =
      static_cast<int64_t>(pages_.size()) * cached.page_bytes + static_cast<int64_t>(kMemoryAlignment);
  tiles_ = Tensor::zeros(host_memory_of(memory), DType::U8, {all_bytes});
  cached.memory = tiles_->data();
  cached.num_pages = static_cast<int64_t>(pages_.size());
  cached.elements = elements_.data();
  RowsPage rows(problem, on_device_);
  for (size_t i = 0; i < pages_.size(); ++i) {
    rows.copy(memory_, on_device_, pages_[i], Direction::ToHost);
    visit_pieces(problem, cached, rows, cached.memory + static_cast<int64_t>(i) * cached.page_bytes,
                 [](const std::byte* in_rows, std::byte* in_tiles, size_t num_bytes) {
                   std::memcpy(in_tiles, in_rows, num_bytes);
                 });
  }
}

void HostCachedKeys::commit() const {
  if (on_device_.appends == 0) return;
  const CachedKeys& cached = problem_.cached;
  const int64_t page_rows = cached.page_tiles * kCacheTileRows;
  RowsPage rows(problem_, on_device_);
  for (int64_t b = 0; b < problem_.batch; ++b) {
    const Sequence& sequence = sequence_of(problem_.limits, b);
    if (sequence.query_count == 0) continue;
    const int64_t end = divide_up(sequence.key_count, page_rows);
    for (int64_t i = (sequence.key_count - sequence.query_count) / page_rows; i < end; ++i) {
      const int32_t page = copied_pages_[static_cast<size_t>(b)][static_cast<size_t>(i)];
      visit_pieces(problem_, cached, rows, cached.memory + page * cached.page_bytes,
                   [](std::byte* in_rows, const std::byte* in_tiles, size_t num_bytes) {
                     std::memcpy(in_rows, in_tiles, num_bytes);
                   });
      rows.copy(memory_, on_device_, pages_[static_cast<size_t>(page)], Direction::ToDevice);
    }
  }
}

}  // namespace heed
