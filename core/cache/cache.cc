// SPDX-License-Identifier: Apache-2.0
#include "cache/cache.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/fresh_memory.h"
#include "base/rounding.h"
#include "tensor/host_memory.h"

namespace heed {
namespace {

size_t count_of(int64_t a, int64_t b = 1) { return static_cast<size_t>(a) * static_cast<size_t>(b); }

// The pages of all layers. In host memory they are in large pages of the system if it has them: attention reads pages of a
// cache in any order, and finding the addresses of small ones takes up to a tenth of its time.
Tensor make_pages(const std::shared_ptr<Context>& context, const std::vector<CacheGeometry>& geometries) {
  const Shape shape = {num_bytes_of(geometries)};
  if (geometries.front().form == CacheForm::Rows) return Tensor::zeros(context, DType::U8, shape);
  Tensor pages = Tensor::undefined(host_memory_of(context), DType::U8, shape);
  if (FreshMemory::is_for(context->host_allocator(), pages.num_bytes()))
    FreshMemory::request_large(pages.data(), pages.num_bytes());
  if (pages.num_bytes() > 0) std::memset(pages.data(), 0, pages.num_bytes());
  return pages;
}

}  // namespace

Cache::Place Cache::place_of(const Context& context, const CacheOptions& options) {
  Place place = {with_defaults(options), {}};
  CacheShape shape;
  shape.dtype = place.options.dtype;
  shape.is_ring = place.options.layout == CacheLayout::Ring ? 1 : 0;
  shape.unrotated_keys = place.options.unrotated_keys ? 1 : 0;
  shape.num_kv_heads = place.options.num_kv_heads;
  shape.head_size = place.options.head_size;
  shape.value_head_size = place.options.value_head_size;
  shape.page_rows = options.page_size;
  const int64_t page_rows = context.cache_page_rows(shape);
  place.geometries = geometries_of(place.options, 0);
  if (page_rows == 0) return place;
  Place on_device = {place.options, {}};
  // No ring is in a device's memory, and a layer may keep more rows than it sees.
  on_device.options.layer_capacities = nullptr;
  if (place.options.layout == CacheLayout::Paged) on_device.options.page_size = page_rows;
  on_device.geometries = geometries_of(on_device.options, page_rows);
  return on_device.geometries.front().num_pages <= kMaxRowsOfPages / page_rows ? on_device : place;
}

std::vector<CacheGeometry> Cache::geometries_of(const CacheOptions& options, int64_t device_page_rows) {
  std::vector<CacheGeometry> geometries;
  for (const CacheGroup& group : groups_of(options))
    geometries.push_back(geometry_of(options, group, device_page_rows));
  return geometries;
}

Cache::Cache(const std::shared_ptr<Context>& context, const CacheOptions& options)
    : Cache(context, place_of(*context, options)) {}

Cache::Cache(std::shared_ptr<Context> context, const Place& place)
    : context_(std::move(context)),
      options_(place.options),
      places_(count_of(options_.num_layers), context_->host_allocator()),
      groups_(place.geometries.size(), context_->host_allocator()),
      numbers_(context_->host_allocator()),
      memory_(make_pages(context_, place.geometries)),
      rows_(count_of(options_.num_layers, options_.max_sequences), context_->host_allocator()),
      old_rows_(rows_.size(), context_->host_allocator()),
      rotary_(context_->host_allocator()) {
  const std::vector<CacheGroup> layers = groups_of(options_);
  // Calls visit(a part of numbers_, its size) for each of all groups.
  const auto visit_parts = [&](const auto& visit) {
    for (size_t i = 0; i < groups_.size(); ++i) {
      LayerGroup& group = groups_[i];
      const CacheGeometry& geometry = place.geometries[i];
      const size_t sequences = count_of(options_.max_sequences);
      for (int32_t** const table : {&group.table, &group.old_table})
        visit(*table, sequences * count_of(geometry.sequence_pages));
      for (int32_t** const counts : {&group.num_pages, &group.old_num_pages}) visit(*counts, sequences);
      for (int32_t** const pages : {&group.references, &group.free}) visit(*pages, count_of(geometry.num_pages));
      visit(group.positions, count_of(layers[i].num_layers, geometry.num_pages * geometry.page_rows));
    }
  };
  size_t total = 0;
  visit_parts([&](int32_t*&, size_t size) { total += size; });
  numbers_.resize(total);
  int32_t* next = numbers_.data();
  visit_parts([&](int32_t*& part, size_t size) { part = std::exchange(next, next + size); });
  int64_t memory_offset = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    LayerGroup& group = groups_[i];
    group.geometry = place.geometries[i];
    group.memory_offset = memory_offset;
    memory_offset += group.geometry.num_bytes;
    const int64_t num_pages = group.geometry.num_pages;
    group.num_free = num_pages;
    for (int64_t page = 0; page < num_pages; ++page) group.free[page] = static_cast<int32_t>(num_pages - 1 - page);
    int32_t index = 0;
    for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
      if (groups_.size() == 1 || window_of(options_, layer) == layers[i].window)
        places_[static_cast<size_t>(layer)] = {static_cast<int32_t>(i), index++};
    }
  }
  rotary_.reserve(count_of(options_.num_layers));
  for (int64_t layer = 0; layer < options_.num_layers; ++layer)
    rotary_.push_back({Rotary::None, nullptr, HostString(context_->host_allocator())});
  options_.layer_capacities = nullptr;  // it was the caller's
}

double Cache::table_bytes(const CacheOptions& options, const CacheGroup& group, const CacheGeometry& geometry) {
  const double sequences = static_cast<double>(options.max_sequences);
  const double layers = static_cast<double>(group.num_layers);
  const double pages = static_cast<double>(geometry.num_pages);
  return layers * (2 * sequences * sizeof(LayerRows) + sizeof(LayerPlace)) + sizeof(LayerGroup) +
         2 * sequences * (static_cast<double>(geometry.sequence_pages) + 1) * sizeof(int32_t) +
         2 * pages * sizeof(int32_t) + layers * pages * static_cast<double>(geometry.page_rows) * sizeof(int32_t);
}

size_t Cache::num_bytes(const CacheOptions& options) {
  const std::vector<CacheGeometry> geometries = geometries_of(with_defaults(options), 0);
  auto num_bytes = static_cast<size_t>(num_bytes_of(geometries));
  for (const CacheGeometry& geometry : geometries) num_bytes += static_cast<size_t>(geometry.table_bytes);
  return num_bytes + sizeof(Cache);
}

Cache::WriteLock::WriteLock(Cache& cache) : cache_(cache) {
  if (!cache_.lock_.try_lock())
    fail(Status::Busy, "cache is in use by another call, expected one call at a time that changes it");
}

Cache::ReadLock::ReadLock(const Cache& cache) : cache_(cache) {
  if (!cache_.lock_.try_lock_shared())
    fail(Status::Busy, "cache is changed by another call, expected no call at the same time that changes it");
}

// ---- what the cache holds -------------------------------------------------------------------------------------------

void Cache::check_sequence(const char* name, int64_t sequence) const {
  if (sequence >= 0 && sequence < options_.max_sequences) return;
  fail(Status::InvalidArgument, "%s is %" PRId64 ", expected 0 to %" PRId64 ", a sequence of the cache", name, sequence,
       options_.max_sequences - 1);
}

void Cache::check_layer(int64_t layer) const {
  if (layer >= 0 && layer < options_.num_layers) return;
  fail(Status::InvalidArgument, "layer is %" PRId64 ", expected 0 to %" PRId64 ", a layer of the cache", layer,
       options_.num_layers - 1);
}

int64_t Cache::longest(int64_t sequence) const {
  int64_t length = 0;
  for (int64_t layer = 0; layer < options_.num_layers; ++layer)
    length = std::max<int64_t>(length, rows(layer, sequence).length);
  return length;
}

int64_t Cache::shortest(int64_t sequence) const {
  int64_t length = rows(0, sequence).length;
  for (int64_t layer = 1; layer < options_.num_layers; ++layer)
    length = std::min<int64_t>(length, rows(layer, sequence).length);
  return length;
}

int64_t Cache::length(int64_t sequence) const {
  check_sequence("sequence", sequence);
  return shortest(sequence);
}

int64_t Cache::num_rows(int64_t layer, int64_t sequence) const {
  check_layer(layer);
  check_sequence("sequence", sequence);
  return rows(layer, sequence).num_kept();
}

int64_t Cache::first(int64_t sequence) const {
  check_sequence("sequence", sequence);
  int64_t first = 0;
  for (int64_t layer = 0; layer < options_.num_layers; ++layer)
    first = std::max<int64_t>(first, rows(layer, sequence).first);
  return first;
}

int64_t Cache::free_pages() const { return groups_.front().num_free; }

bool Cache::is_empty(int64_t layer) const {
  for (int64_t sequence = 0; sequence < options_.max_sequences; ++sequence) {
    if (rows(layer, sequence).length != 0) return false;
  }
  return true;
}

void Cache::check_row(const char* name, int64_t row, int64_t most, int64_t sequence) {
  if (row >= 0 && row <= most) return;
  fail(Status::InvalidArgument, "%s is %" PRId64 ", expected 0 to %" PRId64 ", the rows of sequence %" PRId64, name,
       row, most, sequence);
}

void Cache::check_kept(const char* name, int64_t row, int64_t sequence) const {
  const int64_t oldest = first(sequence);
  if (row >= oldest) return;
  fail(Status::InvalidArgument,
       "%s is %" PRId64 ", but the oldest row that sequence %" PRId64 " keeps after its sinks is %" PRId64
       ": expected at least that",
       name, row, sequence, oldest);
}

void Cache::require_equal_layers(const char* function, int64_t sequence) const {
  if (longest(sequence) == shortest(sequence)) return;
  fail(Status::InvalidArgument,
       "sequence %" PRId64 " has %" PRId64 " rows in one layer and %" PRId64
       " in another, but " FUNCTION("%s") " takes rows of all layers: expected the same number",
       sequence, longest(sequence), shortest(sequence), function);
}

int64_t Cache::position_of(int64_t layer, int64_t sequence, int64_t row) const {
  const LayerRows& rows = this->rows(layer, sequence);
  if (row < rows.num_consecutive) return row + rows.shift;
  return const_cast<Cache*>(this)->position_at(layer, sequence, row);
}

int64_t Cache::next_position(int64_t layer, int64_t sequence) const {
  const int64_t length = rows(layer, sequence).length;
  return length == 0 ? 0 : position_of(layer, sequence, length - 1) + 1;
}

int32_t& Cache::position_at(int64_t layer, int64_t sequence, int64_t row) {
  const CacheGeometry& geometry = this->geometry(layer);
  const int64_t stored = geometry.stored_row(row);
  const int64_t page = pages_of(layer, sequence)[stored / geometry.page_rows];
  return positions_of_page(layer, page)[stored % geometry.page_rows];
}

void Cache::set_position(int64_t layer, int64_t sequence, LayerRows& rows, int64_t row, int64_t position) noexcept {
  if (row == 0) rows.shift = position;
  if (rows.num_consecutive == row && position == row + rows.shift)
    ++rows.num_consecutive;
  else
    rows.num_consecutive = std::min(rows.num_consecutive, row);
  position_at(layer, sequence, row) = static_cast<int32_t>(position);
}

std::string_view Cache::rotary_text(int64_t layer) const {
  if (options_.unrotated_keys) return kNoRotary;
  const LayerRotary& rotary = rotary_of(layer);
  switch (rotary.kind) {
    case Rotary::None: return kNoRotary;
    case Rotary::Table: return rotary.table->text();
    case Rotary::Text: return rotary.text;
  }
  __builtin_unreachable();  // there is no other state
}

void Cache::check_rotary(int64_t layer, const RotaryTable* rotary) const {
  if (options_.unrotated_keys || rotary == rotary_of(layer).table.get()) return;
  const std::string_view held = rotary_text(layer);
  const std::string_view given = rotary != nullptr ? rotary->text() : kNoRotary;
  if (held == given || is_empty(layer)) return;
  fail(Status::InvalidArgument,
       INPUT("cache->cache") " holds keys with the rotary positions %.*s, but those of the " WORD(
           "layer") " are %.*s: expected the same",
       static_cast<int>(std::min<size_t>(held.size(), 160)), held.data(),
       static_cast<int>(std::min<size_t>(given.size(), 160)), given.data());
}

// ---- pages ----------------------------------------------------------------------------------------------------------

void Cache::cut(int64_t sequence, int64_t length) noexcept {
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
    LayerRows& rows = rows_at(layer, sequence);
    if (length == 0) {
      rows = LayerRows();
      continue;
    }
    rows.length = std::min<int64_t>(rows.length, length);
    // All that is left are sinks: what follows them has not been dropped.
    if (rows.length <= rows.num_sinks) rows.first = 0;
    rows.num_consecutive = std::min<int64_t>(rows.num_consecutive, rows.length);
  }
  for (LayerGroup& group : groups_) group.cut_pages(sequence, group.geometry.pages_for(length));
}

void Cache::copy_page(LayerGroup& group, int64_t sequence, int64_t page) {
  const CacheGeometry& geometry = group.geometry;
  int32_t& entry = group.page_table(sequence)[page];
  const int32_t from = entry;
  // The page that take_page takes, once all has been copied.
  const int32_t to = group.free[static_cast<size_t>(group.num_free - 1)];
  // Only the tiles that the sequence has. A ring has one page, page 0.
  const int64_t used = longest(sequence) - page * geometry.page_rows;
  const int64_t num_rows = std::clamp<int64_t>(round_up(used, kCacheTileRows), 0, geometry.page_rows);
  const auto element = static_cast<int64_t>(size_of(options_.dtype));
  const int64_t key_bytes = num_rows * options_.head_size * element;
  const int64_t value_bytes = num_rows * options_.value_head_size * element;
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
    if (!is_in(group, layer)) continue;
    std::byte* memory = layer_memory(layer);
    // Copies bytes of a part of each page.
    const auto copy = [&](int64_t offset, int64_t page_bytes, int64_t num_bytes) {
      const std::byte* source = memory + offset + from * page_bytes;
      this->memory().copy(memory + offset + to * page_bytes, source, static_cast<size_t>(num_bytes),
                          Direction::OnDevice);
    };
    std::copy_n(positions_of_page(layer, from), num_rows, positions_of_page(layer, to));
    if (geometry.form == CacheForm::Rows) {
      copy(0, geometry.page_bytes, key_bytes * options_.num_kv_heads);
      copy(geometry.values_offset, geometry.value_page_bytes, value_bytes * options_.num_kv_heads);
      continue;
    }
    for (int64_t head = 0; head < options_.num_kv_heads; ++head) {
      const int64_t offset = head * geometry.head_bytes;
      copy(offset, geometry.page_bytes, key_bytes);
      copy(offset + geometry.values_offset, geometry.page_bytes, value_bytes);
      if (options_.dtype != DType::I8) continue;
      const int64_t scale_bytes = num_rows * static_cast<int64_t>(sizeof(float));
      copy(offset + geometry.key_scales_offset, geometry.page_bytes, scale_bytes);
      copy(offset + geometry.value_scales_offset, geometry.page_bytes, scale_bytes);
    }
  }
  entry = group.take_page();
  group.give_back_page(from);
}

void Cache::check_capacity(int64_t sequence, int64_t length) const {
  const int64_t most = groups_.front().geometry.max_rows;
  if (length <= most) return;
  const int64_t held = longest(sequence);
  fail(Status::CacheFull,
       "cache has no room: %" PRId64 " rows needed, %" PRId64 " free: sequence %" PRId64 " has %" PRId64
       " of at most %" PRId64 " rows",
       length - std::min(held, length), most - held, sequence, held, most);
}

void Cache::make_own(int64_t sequence, int64_t first, int64_t end) {
  for (const LayerGroup& group : groups_) group.require_free(group.num_shared(sequence, first, end));
  for (LayerGroup& group : groups_) {
    const KeyRange pages = group.pages_with(first, end);
    for (int64_t page = pages.first; page < pages.end; ++page) {
      if (group.is_shared(sequence, page)) copy_page(group, sequence, page);
    }
  }
}

HostVector<PagesImage> Cache::images_of(int64_t sequence, int64_t first, int64_t end,
                                        PagesImage::Contents contents) const {
  HostVector<PagesImage> images(context_->host_allocator());
  images.reserve(count_of(options_.num_layers));
  for (int64_t layer = 0; layer < options_.num_layers; ++layer)
    images.emplace_back(*this, layer, sequence, first, end, contents);
  return images;
}

void Cache::commit(std::span<const PagesImage> images, int64_t sequence, int64_t unchanged) {
  try {
    for (const PagesImage& image : images) image.commit();
  } catch (...) {
    cut(sequence, unchanged);
    throw;
  }
}

KeyRange Cache::pages_written(int64_t layer, const NewRows& added) const {
  const LayerGroup& group = group_of(layer);
  const CacheGeometry& geometry = group.geometry;
  const int64_t length = rows(layer, added.sequence).length;
  const int64_t held = group.num_pages[static_cast<size_t>(added.sequence)];
  const int64_t first = geometry.ring_rows > 0 ? 0 : length / geometry.page_rows;
  return {std::min(first, held), std::min(geometry.pages_for(length + added.count), held)};
}

void Cache::remember(int64_t layer, std::span<const NewRows> rows) noexcept {
  LayerGroup& group = group_of(layer);
  for (const NewRows& added : rows) {
    if (added.count == 0) continue;
    const auto sequence = static_cast<size_t>(added.sequence);
    group.old_num_pages[sequence] = group.num_pages[sequence];
    const KeyRange pages = pages_written(layer, added);
    const int64_t offset = added.sequence * group.geometry.sequence_pages + pages.first;
    std::copy_n(group.table + offset, pages.size(), group.old_table + offset);
  }
}

bool Cache::is_as_before(int64_t layer, std::span<const NewRows> rows, int64_t sequence, int64_t page, int32_t number,
                         bool has_all_rows) const {
  const LayerGroup& group = group_of(layer);
  for (const NewRows& other : rows) {
    if (other.count == 0 || other.sequence == sequence) continue;
    const KeyRange pages = pages_written(layer, other);
    if (page < pages.first || page >= pages.end || group.pages_of(other.sequence)[page] != number) continue;
    if (group.geometry.ring_rows > 0 && !has_all_rows) return false;
    // It has written from its end on.
    for (int64_t each = 0; each < options_.num_layers; ++each) {
      if (this->rows(each, sequence).length > this->rows(each, other.sequence).length) return false;
    }
  }
  return true;
}

void Cache::undo(int64_t layer, std::span<const NewRows> rows, bool has_all_rows) noexcept {
  LayerGroup& group = group_of(layer);
  for (const NewRows& added : rows) {
    if (added.count == 0) continue;
    group.cut_pages(added.sequence, group.old_num_pages[static_cast<size_t>(added.sequence)]);
    const KeyRange pages = pages_written(layer, added);
    for (int64_t page = pages.first; page < pages.end; ++page) {
      int32_t& number = group.page_table(added.sequence)[page];
      const auto entry = static_cast<size_t>(added.sequence * group.geometry.sequence_pages + page);
      const int32_t before = group.old_table[entry];
      if (number == before || !is_as_before(layer, rows, added.sequence, page, before, has_all_rows)) continue;
      group.give_back_page(number);
      number = before;
      ++group.references[static_cast<size_t>(before)];
    }
  }
}

void Cache::prepare(int64_t layer, std::span<const NewRows> rows) {
  LayerGroup& group = group_of(layer);
  // Several sequences of the call may share a page that is written; then all but the last one copy it.
  const auto visit_copies = [&](const auto& visit) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].count == 0) continue;
      const KeyRange pages = pages_written(layer, rows[i]);
      for (int64_t page = pages.first; page < pages.end; ++page) visit(i, page);
    }
  };
  int64_t needed = 0;
  for (const NewRows& added : rows) {
    if (added.count == 0) continue;
    const int64_t length = this->rows(layer, added.sequence).length + added.count;
    check_capacity(added.sequence, length);
    needed += group.num_lacking(added.sequence, length);
  }
  visit_copies([&](size_t i, int64_t page) {
    const int32_t number = group.pages_of(rows[i].sequence)[page];
    int32_t others = group.references[static_cast<size_t>(number)] - 1;
    for (size_t j = 0; j < i && others > 0; ++j) {
      if (rows[j].count == 0) continue;
      const KeyRange earlier = pages_written(layer, rows[j]);
      if (page >= earlier.first && page < earlier.end && group.pages_of(rows[j].sequence)[page] == number) --others;
    }
    needed += others > 0 ? 1 : 0;
  });
  group.require_free(needed);
  visit_copies([&](size_t i, int64_t page) {
    if (group.is_shared(rows[i].sequence, page)) copy_page(group, rows[i].sequence, page);
  });
  for (const NewRows& added : rows) {
    if (added.count == 0) continue;
    const int64_t length = this->rows(layer, added.sequence).length + added.count;
    group.take_pages(added.sequence, group.geometry.pages_for(length));
  }
}

void Cache::note_dropped(int64_t layer, const NewRows& added, LayerRows& held) noexcept {
  const int64_t begin = held.length;
  const int64_t oldest = begin + added.count - geometry(layer).ring_rows;
  if (oldest <= held.first) return;
  int64_t next = next_position(layer, added.sequence);
  if (held.num_consecutive == begin && (added.positions == nullptr || oldest <= begin)) {
    held.dropped_end = std::max(held.dropped_end, oldest + (begin == 0 ? 0 : held.shift));
    return;
  }
  for (int64_t row = held.first; row < oldest; ++row) {
    if (row >= begin && added.positions != nullptr) next = added.positions[row - begin];
    const int64_t position = row < begin ? position_of(layer, added.sequence, row) : next++;
    held.dropped_end = std::max(held.dropped_end, position + 1);
  }
}

void Cache::commit(int64_t layer, std::span<const NewRows> rows,
                   const std::shared_ptr<const RotaryTable>& rotary) noexcept {
  LayerRotary& kept = rotary_[static_cast<size_t>(layer)];
  kept.kind = rotary != nullptr ? Rotary::Table : Rotary::None;
  if (kept.table != rotary) kept.table = rotary;
  const CacheGeometry& geometry = this->geometry(layer);
  for (const NewRows& added : rows) {
    LayerRows& held = rows_at(layer, added.sequence);
    if (geometry.serves_window) note_dropped(layer, added, held);
    const int64_t begin = held.length;
    int64_t next = next_position(layer, added.sequence);
    for (int64_t i = 0; i < added.count; ++i) {
      if (added.positions != nullptr) next = added.positions[i];
      held.length = begin + i + 1;
      set_position(layer, added.sequence, held, begin + i, next++);
    }
    if (geometry.ring_rows > 0) {
      held.num_sinks = num_sinks(layer, added.sequence);
      drop_rows(geometry, held);
    }
  }
}

void Cache::drop_rows(const CacheGeometry& geometry, LayerRows& rows) noexcept {
  const int64_t oldest = rows.length - geometry.ring_rows;
  if (oldest > geometry.sink_rows) rows.first = std::max<int64_t>(rows.first, oldest);
}

// ---- changes --------------------------------------------------------------------------------------------------------

void Cache::reserve(int64_t sequence, int64_t length) {
  const WriteLock lock(*this);
  check_sequence("sequence", sequence);
  if (length < 0) fail(Status::InvalidArgument, "length is %" PRId64 ", expected at least 0", length);
  check_capacity(sequence, length);
  for (const LayerGroup& group : groups_) group.require_free(group.num_lacking(sequence, length));
  for (LayerGroup& group : groups_) group.take_pages(sequence, group.geometry.pages_for(length));
}

bool Cache::can_be_cut(int64_t layer, int64_t sequence, int64_t length, int64_t last) const {
  const LayerRows& held = rows(layer, sequence);
  if (length >= held.length || held.first == 0 || length <= held.num_sinks) return true;
  const CacheGeometry& geometry = this->geometry(layer);
  // The next row sees the rows before it that a ring shows.
  if (!geometry.serves_window) return held.first <= length - std::max<int64_t>(0, geometry.visible_rows - 1);
  return last >= held.first && position_of(layer, sequence, last) + 1 - (geometry.visible_rows - 1) >= held.dropped_end;
}

void Cache::check_cut(int64_t sequence, int64_t length, int64_t last) const {
  const int64_t most = longest(sequence);
  check_row("length", length, most, sequence);
  if (length == 0) return;
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
    if (can_be_cut(layer, sequence, length, last)) continue;
    int64_t least = length + 1;
    for (int64_t each = 0; each < options_.num_layers; ++each) {
      const CacheGeometry& geometry = this->geometry(each);
      const int64_t visible = geometry.serves_window ? 2 : std::max<int64_t>(1, geometry.visible_rows);
      if (!can_be_cut(each, sequence, length, last)) least = std::max(least, rows(each, sequence).first + visible - 1);
      while (least < most && !can_be_cut(each, sequence, least, least - 1)) ++least;
    }
    fail(Status::InvalidArgument,
         "length is %" PRId64 ", but the oldest row that sequence %" PRId64 " keeps after its sinks is %" PRId64
         ": expected at most %" PRId64 ", or at least %" PRId64,
         length, sequence, first(sequence), rows(layer, sequence).num_sinks, least);
  }
}

void Cache::rewind(int64_t sequence, int64_t length) {
  const WriteLock lock(*this);
  check_sequence("sequence", sequence);
  check_cut(sequence, length, length - 1);
  cut(sequence, length);
}

void Cache::share(int64_t from, int64_t to) noexcept {
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) rows_at(layer, to) = rows(layer, from);
  for (LayerGroup& group : groups_) {
    const int32_t count = group.num_pages[static_cast<size_t>(from)];
    for (int32_t page = 0; page < count; ++page) {
      group.page_table(to)[page] = group.page_table(from)[page];
      ++group.references[static_cast<size_t>(group.page_table(to)[page])];
    }
    group.num_pages[static_cast<size_t>(to)] = count;
  }
}

void Cache::fork(int64_t from, int64_t length, int64_t to) {
  const WriteLock lock(*this);
  check_sequence("from", from);
  check_sequence("to", to);
  check_cut(from, length, length - 1);
  if (from == to) return cut(from, length);
  cut(to, 0);
  share(from, to);
  cut(to, length);
}

void Cache::reorder(std::span<const int64_t> sources) {
  const WriteLock lock(*this);
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] >= 0 && sources[i] < options_.max_sequences) continue;
    fail(Status::InvalidArgument, "sources[%zu] is %" PRId64 ", expected 0 to %" PRId64 ", a sequence of the cache", i,
         sources[i], options_.max_sequences - 1);
  }
  std::copy(rows_.begin(), rows_.end(), old_rows_.begin());
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
    const auto row = static_cast<size_t>(layer * options_.max_sequences);
    for (size_t i = 0; i < sources.size(); ++i) rows_[row + i] = old_rows_[row + static_cast<size_t>(sources[i])];
  }
  for (LayerGroup& group : groups_) {
    const size_t sequences = count_of(options_.max_sequences);
    std::copy_n(group.table, sequences * count_of(group.geometry.sequence_pages), group.old_table);
    std::copy_n(group.num_pages, sequences, group.old_num_pages);
    const auto old_pages = [&](int64_t sequence) {
      return std::span(group.old_table + sequence * group.geometry.sequence_pages,
                       static_cast<size_t>(group.old_num_pages[static_cast<size_t>(sequence)]));
    };
    for (size_t i = 0; i < sources.size(); ++i) {
      const std::span<const int32_t> pages = old_pages(sources[i]);
      for (const int32_t page : pages) ++group.references[static_cast<size_t>(page)];
      std::copy(pages.begin(), pages.end(), group.page_table(static_cast<int64_t>(i)));
      group.num_pages[i] = static_cast<int32_t>(pages.size());
    }
    for (size_t i = 0; i < sources.size(); ++i) {
      for (const int32_t page : old_pages(static_cast<int64_t>(i))) group.give_back_page(page);
    }
  }
}

void Cache::accept(int64_t sequence, int64_t from, std::span<const int64_t> kept) {
  const WriteLock lock(*this);
  check_sequence("sequence", sequence);
  require_equal_layers("heed_cache_accept", sequence);
  const int64_t length = longest(sequence);
  check_row("from", from, length, sequence);
  check_kept("from", from, sequence);
  int64_t before = -1;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] <= before || kept[i] >= length - from) {
      fail(Status::InvalidArgument,
           "kept[%zu] is %" PRId64 ", expected rising numbers from 0 to %" PRId64 ", which count from row %" PRId64, i,
           kept[i], length - from - 1, from);
    }
    before = kept[i];
  }
  const auto count = static_cast<int64_t>(kept.size());
  const int64_t end = from + count;
  if (has_ring() && end < length) check_cut(sequence, end, kept.empty() ? from - 1 : from + kept.back());
  int64_t first_moved = 0;
  while (first_moved < count && kept[static_cast<size_t>(first_moved)] == first_moved) ++first_moved;
  const bool moves = first_moved < count;
  const HostVector<PagesImage> images = images_of(sequence, from + first_moved, moves ? from + kept.back() + 1 : 0);
  make_own(sequence, from + first_moved, end);
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
    LayerRows& rows = rows_at(layer, sequence);
    rows.num_consecutive = std::min(rows.num_consecutive, from + first_moved);
    for (int64_t i = first_moved; i < count; ++i) {
      const int64_t row = from + kept[static_cast<size_t>(i)];
      const int64_t position = position_of(layer, sequence, row);
      move_row(*this, images[static_cast<size_t>(layer)], row, from + i);
      set_position(layer, sequence, rows, from + i, position);
    }
  }
  commit(images, sequence, from + first_moved);
  cut(sequence, end);
}

}  // namespace heed
