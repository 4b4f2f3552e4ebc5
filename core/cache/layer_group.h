// SPDX-License-Identifier: Apache-2.0
// The pages of the layers of a cache that keep as many rows: which pages each sequence has, and which are free.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache/cache_options.h"
#include "cache/shared_number.h"
#include "ops/cached_keys.h"

namespace heed {

// Layers that keep as many rows, and so have the same pages of a sequence.
struct LayerGroup {
  CacheGeometry geometry;
  int64_t memory_offset = 0;  // where the group's pages begin in the memory of the cache
  // The cache allocates these arrays.
  int32_t* table = nullptr;       // [sequence][sequence_pages], the first num_pages of each are set
  int32_t* num_pages = nullptr;   // [sequence]
  int32_t* references = nullptr;  // [page], the sequences that have it
  int32_t* free = nullptr;        // [page], the first num_free are pages that no sequence has, the next one last
  int32_t* positions = nullptr;   // [index in the group][page][page_rows]
  // For reorder, remember and undo; as large as what they copy.
  int32_t* old_table = nullptr;
  int32_t* old_num_pages = nullptr;
  SharedNumber num_free;

  const int32_t* pages_of(int64_t sequence) const { return table + sequence * geometry.sequence_pages; }
  int32_t* page_table(int64_t sequence) { return table + sequence * geometry.sequence_pages; }
  // Whether a page of a sequence is shared with another one.
  bool is_shared(int64_t sequence, int64_t page) const {
    return references[static_cast<size_t>(pages_of(sequence)[page])] > 1;
  }
  // The pages of rows first .. end - 1, those of a ring if there are any.
  KeyRange pages_with(int64_t first, int64_t end) const;
  // How many pages of rows first .. end - 1 of a sequence are shared.
  int64_t num_shared(int64_t sequence, int64_t first, int64_t end) const;
  // How many pages a sequence of that length lacks.
  int64_t num_lacking(int64_t sequence, int64_t length) const;
  int32_t take_page() noexcept;
  // Takes pages until the sequence has `count`; as many are free.
  void take_pages(int64_t sequence, int64_t count) noexcept;
  void give_back_page(int32_t page) noexcept;
  // Gives back the pages of a sequence beyond the first `count`.
  void cut_pages(int64_t sequence, int64_t count) noexcept;
  // Throws CacheFull if fewer pages are free.
  void require_free(int64_t needed) const;
};

}  // namespace heed
