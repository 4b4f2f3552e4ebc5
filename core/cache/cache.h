// SPDX-License-Identifier: Apache-2.0
// Keys and values of sequences that grow, in pages that sequences share until one of them writes to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attention/rotary_table.h"
#include "backends/context.h"
#include "base/host_allocator.h"
#include "base/shared_process_lock.h"
#include "cache/cache_options.h"
#include "cache/layer_group.h"
#include "cache/pages_image.h"
#include "cache/shared_number.h"
#include "ops/cached_keys.h"
#include "tensor/tensor.h"

namespace heed {

class SafetensorsFile;

// The rows of a sequence in one layer. Row i of a sequence is the i-th that was appended.
struct LayerRows {
  SharedNumber length;  // rows, dropped ones included
  // Rows 0 .. num_sinks - 1 and first .. length - 1 are kept.
  int64_t num_sinks = 0;
  SharedNumber first;
  // The position of row i < num_consecutive is i + shift. Those of later rows are in the cache's positions.
  int64_t num_consecutive = 0;
  int64_t shift = 0;
  // In the ring of a window: all rows that have been dropped have positions below this.
  int64_t dropped_end = 0;

  bool keeps(int64_t row) const { return row < num_sinks || row >= first; }
  int64_t num_kept() const { return std::min<int64_t>(num_sinks, first) + length - first; }
};

class Cache {
 public:
  // Throws InvalidArgument that names the member of `options`, OutOfMemory.
  Cache(const std::shared_ptr<Context>& context, const CacheOptions& options);
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // The bytes of pages and of all tables.
  static size_t num_bytes(const CacheOptions& options);
  // The bytes of what a cache keeps beside the pages of a group, in double, since they may overflow.
  static double table_bytes(const CacheOptions& options, const CacheGroup& group, const CacheGeometry& geometry);

  const std::shared_ptr<Context>& context() const { return context_; }
  const CacheOptions& options() const { return options_; }
  const CacheGeometry& geometry(int64_t layer) const { return group_of(layer).geometry; }

  // ---- locks: one that changes the cache, or many that read it; Busy otherwise ----
  class WriteLock {
   public:
    explicit WriteLock(Cache& cache);
    WriteLock(const WriteLock&) = delete;
    WriteLock& operator=(const WriteLock&) = delete;
    ~WriteLock() { cache_.lock_.unlock(); }

   private:
    Cache& cache_;
  };
  class ReadLock {
   public:
    explicit ReadLock(const Cache& cache);
    ReadLock(const ReadLock&) = delete;
    ReadLock& operator=(const ReadLock&) = delete;
    ~ReadLock() { cache_.lock_.unlock_shared(); }

   private:
    const Cache& cache_;
  };

  // ---- the functions of heed_cache_*, with the same rules and errors; they lock the cache ----
  // The first four need no lock.
  int64_t length(int64_t sequence) const;
  int64_t first(int64_t sequence) const;
  int64_t num_rows(int64_t layer, int64_t sequence) const;
  int64_t free_pages() const;
  void reserve(int64_t sequence, int64_t length);
  void rewind(int64_t sequence, int64_t length);
  void fork(int64_t from, int64_t length, int64_t to);
  void reorder(std::span<const int64_t> sources);
  void accept(int64_t sequence, int64_t from, std::span<const int64_t> kept);
  void discard(int64_t sequence, int64_t first, int64_t num_rows, bool renumber);
  void read(int64_t layer, int64_t sequence, const Tensor* keys, const Tensor* values) const;
  void save(int64_t sequence, const char* path) const;
  size_t save_to_memory(int64_t sequence, void* destination, size_t capacity) const;
  void load(int64_t sequence, const SafetensorsFile& file);

  // ---- for calls of layers, which hold a lock ----
  const LayerRows& rows(int64_t layer, int64_t sequence) const {
    return rows_[static_cast<size_t>(layer * options_.max_sequences + sequence)];
  }
  // How many of a sequence's first rows are sinks, which are never dropped. A ring has as many as its options say, or fewer if
  // the sequence was loaded from a file that lacks the others. Another layout has only those of a file.
  int64_t num_sinks(int64_t layer, int64_t sequence) const {
    const LayerRows& held = rows(layer, sequence);
    return geometry(layer).ring_rows > 0 && held.first == 0 ? options_.num_sinks : held.num_sinks;
  }
  // The position of a row that is kept.
  int64_t position_of(int64_t layer, int64_t sequence, int64_t row) const;
  // The position of a row that is appended, unless one is given.
  int64_t next_position(int64_t layer, int64_t sequence) const;
  // The pages of a sequence in one layer, which `prepare` may replace.
  const int32_t* pages_of(int64_t layer, int64_t sequence) const { return group_of(layer).pages_of(sequence); }
  std::byte* layer_memory(int64_t layer) const {
    const LayerGroup& group = group_of(layer);
    return memory_.data() + group.memory_offset + index_in_group(layer) * group.geometry.layer_bytes;
  }
  // What layer_memory is in: the context's memory, or host memory if the device does not keep such a cache.
  const Memory& memory() const { return *memory_.memory(); }

  // Throws InvalidArgument if the cache's layer has rows whose keys were rotated in another way. `rotary`: null for none.
  void check_rotary(int64_t layer, const RotaryTable* rotary) const;

  // New rows of a sequence in one layer.
  struct NewRows {
    int64_t sequence = 0;
    int64_t count = 0;
    const int32_t* positions = nullptr;  // [count]; null: they continue
  };
  // Before the first `prepare` of a call, for each of its layers: what is needed to undo these.
  void remember(int64_t layer, std::span<const NewRows> rows) noexcept;
  // Makes room for them: takes pages, and copies pages that are shared with a fork. Throws CacheFull, without any change.
  void prepare(int64_t layer, std::span<const NewRows> rows);
  // Gives back pages that `prepare` took since `remember`. Rows may have been written and not committed. `has_all_rows`:
  // whether what a ring has overwritten is there again.
  void undo(int64_t layer, std::span<const NewRows> rows, bool has_all_rows) noexcept;
  // Counts them in, after they have been written.
  void commit(int64_t layer, std::span<const NewRows> rows, const std::shared_ptr<const RotaryTable>& rotary) noexcept;

 private:
  friend class CacheFile;

  // The rotary positions of the keys of a layer: described by a table, or by a text if they came from a file.
  enum class Rotary : int32_t { None, Table, Text };
  struct LayerRotary {
    Rotary kind = Rotary::None;
    std::shared_ptr<const RotaryTable> table;  // Rotary::Table
    HostString text;                           // Rotary::Text
  };
  static constexpr std::string_view kNoRotary = "none";  // the text of None

  LayerRows& rows_at(int64_t layer, int64_t sequence) {
    return rows_[static_cast<size_t>(layer * options_.max_sequences + sequence)];
  }

  // The group of a layer, and its number there.
  struct LayerPlace {
    int32_t group;
    int32_t index;
  };
  LayerGroup& group_of(int64_t layer) {
    return groups_[static_cast<size_t>(places_[static_cast<size_t>(layer)].group)];
  }
  const LayerGroup& group_of(int64_t layer) const {
    return groups_[static_cast<size_t>(places_[static_cast<size_t>(layer)].group)];
  }
  int64_t index_in_group(int64_t layer) const { return places_[static_cast<size_t>(layer)].index; }
  bool is_in(const LayerGroup& group, int64_t layer) const { return &group_of(layer) == &group; }
  // Whether a layer keeps its rows in a ring.
  bool has_ring() const { return groups_.back().geometry.ring_rows > 0; }
  // Whether a layer has a ring for its own window.
  bool has_windows() const { return groups_.back().geometry.serves_window; }
  void check_sequence(const char* name, int64_t sequence) const;
  void check_layer(int64_t layer) const;
  // The largest and the smallest length of a sequence in any layer.
  int64_t longest(int64_t sequence) const;
  int64_t shortest(int64_t sequence) const;
  // Whether no sequence has rows of that layer.
  bool is_empty(int64_t layer) const;
  // Throws unless `row` is 0 to most, the rows of the sequence.
  static void check_row(const char* name, int64_t row, int64_t most, int64_t sequence);
  // Throws if `row` is before the oldest one that is kept after the sinks.
  void check_kept(const char* name, int64_t row, int64_t sequence) const;
  // Throws unless all layers have the same rows of the sequence.
  void require_equal_layers(const char* function, int64_t sequence) const;
  // Whether a layer keeps all that the next row sees if the sequence is cut to that length. `last`: which row is the last
  // one then.
  bool can_be_cut(int64_t layer, int64_t sequence, int64_t length, int64_t last) const;
  // Throws unless a sequence can be cut to that length.
  void check_cut(int64_t sequence, int64_t length, int64_t last) const;
  void check_capacity(int64_t sequence, int64_t length) const;

  // Counts as dropped the rows that a ring has no room for.
  static void drop_rows(const CacheGeometry& geometry, LayerRows& rows) noexcept;
  // Before new rows are counted in: sets dropped_end to what it is once they are.
  void note_dropped(int64_t layer, const NewRows& added, LayerRows& held) noexcept;

  // The pages of a sequence that are written when rows are appended: those that it has, from the row where it ends.
  KeyRange pages_written(int64_t layer, const NewRows& added) const;
  // Whether no other sequence has written to a page what `sequence` sees: rows were written and not committed.
  bool is_as_before(int64_t layer, std::span<const NewRows> rows, int64_t sequence, int64_t page, int32_t number,
                    bool has_all_rows) const;
  // Cuts all layers of a sequence, and its pages.
  void cut(int64_t sequence, int64_t length) noexcept;
  // The positions of the rows of a page in one layer.
  int32_t* positions_of_page(int64_t layer, int64_t page) {
    LayerGroup& group = group_of(layer);
    const CacheGeometry& geometry = group.geometry;
    return group.positions + (index_in_group(layer) * geometry.num_pages + page) * geometry.page_rows;
  }
  // Replaces a shared page of a sequence by a copy. Throws the failure of a device, and then the sequence has the shared
  // page.
  void copy_page(LayerGroup& group, int64_t sequence, int64_t page);
  // Makes the pages of rows first .. end - 1 the sequence's own. Throws CacheFull, without any change of its rows.
  void make_own(int64_t sequence, int64_t first, int64_t end);
  // Makes `to` have the same pages and rows as `from`.
  void share(int64_t from, int64_t to) noexcept;

  // Rows first .. end - 1 of a sequence, which `discard` moves to the rows `distance` before them.
  struct MovedRows {
    int64_t first;
    int64_t end;
    int64_t distance;
    bool renumbers;  // whether their positions fall by as much
  };
  // Throws unless the sequence, of that length, can lose these rows.
  void check_discarded(int64_t sequence, int64_t first_row, int64_t num_rows, int64_t length) const;
  // Throws if a position would be below 0.
  void check_renumbered(int64_t sequence, const MovedRows& moved) const;
  // Throws if a layer would lack rows that its window then reaches.
  void check_windows(int64_t sequence, const MovedRows& moved) const;
  bool has_rotated_keys() const;
  // Throws unless keys that are rotated can be rotated once more.
  void require_rotatable() const;
  // The largest number of elements of a key that a layer rotates.
  int64_t largest_rotary_size() const;
  // Moves them in one layer. `image`: the layer's pages. `rotation`: memory for that of a key by -distance; empty: none.
  void move_rows(int64_t layer, int64_t sequence, const PagesImage& image, const MovedRows& moved,
                 std::span<float> rotation);

  int32_t& position_at(int64_t layer, int64_t sequence, int64_t row);
  // Sets the position of a row. All earlier rows have theirs.
  void set_position(int64_t layer, int64_t sequence, LayerRows& rows, int64_t row, int64_t position) noexcept;
  const LayerRotary& rotary_of(int64_t layer) const { return rotary_[static_cast<size_t>(layer)]; }
  // The rotary positions of a layer's keys, as JSON; "none" if there are none.
  std::string_view rotary_text(int64_t layer) const;
  // The pages of rows first .. end - 1 of all layers.
  HostVector<PagesImage> images_of(int64_t sequence, int64_t first, int64_t end,
                                   PagesImage::Contents contents = PagesImage::Contents::Copied) const;
  // Writes them to the cache. If a device fails, cuts the sequence to `unchanged` rows.
  void commit(std::span<const PagesImage> images, int64_t sequence, int64_t unchanged);

  // The options with their defaults, and how memory is divided: the device's, or that of the host.
  struct Place {
    CacheOptions options;
    std::vector<CacheGeometry> geometries;  // of the groups
  };
  static Place place_of(const Context& context, const CacheOptions& options);
  // `device_page_rows`: as geometry_of.
  static std::vector<CacheGeometry> geometries_of(const CacheOptions& options, int64_t device_page_rows);
  Cache(std::shared_ptr<Context> context, const Place& place);

  std::shared_ptr<Context> context_;
  CacheOptions options_;
  HostVector<LayerPlace> places_;   // [layer]
  HostVector<LayerGroup> groups_;   // by rising windows
  HostVector<int32_t> numbers_;     // of all groups
  Tensor memory_;                   // the pages of all layers
  HostVector<LayerRows> rows_;      // [layer][sequence]
  HostVector<LayerRows> old_rows_;  // for reorder
  HostVector<LayerRotary> rotary_;  // [layer]
  mutable SharedProcessLock lock_;
};

}  // namespace heed
