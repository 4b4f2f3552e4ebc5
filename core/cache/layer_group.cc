// SPDX-License-Identifier: Apache-2.0
#include "cache/layer_group.h"

#include <algorithm>
#include <cinttypes>

#include "base/error.h"
#include "base/rounding.h"

namespace heed {

int32_t LayerGroup::take_page() noexcept {
  num_free = num_free - 1;
  const int32_t page = free[static_cast<size_t>(num_free)];
  references[static_cast<size_t>(page)] = 1;
  return page;
}

void LayerGroup::take_pages(int64_t sequence, int64_t count) noexcept {
  int32_t& held = num_pages[static_cast<size_t>(sequence)];
  while (held < count) page_table(sequence)[held++] = take_page();
}

void LayerGroup::give_back_page(int32_t page) noexcept {
  if (--references[static_cast<size_t>(page)] > 0) return;
  free[static_cast<size_t>(num_free)] = page;
  num_free = num_free + 1;
}

void LayerGroup::cut_pages(int64_t sequence, int64_t count) noexcept {
  int32_t& held = num_pages[static_cast<size_t>(sequence)];
  while (held > count) give_back_page(page_table(sequence)[--held]);
}

KeyRange LayerGroup::pages_with(int64_t first, int64_t end) const {
  if (first >= end) return {0, 0};
  if (geometry.ring_rows > 0) return {0, 1};
  return {first / geometry.page_rows, divide_up(end, geometry.page_rows)};
}

int64_t LayerGroup::num_shared(int64_t sequence, int64_t first, int64_t end) const {
  const KeyRange pages = pages_with(first, end);
  int64_t count = 0;
  for (int64_t page = pages.first; page < pages.end; ++page) count += is_shared(sequence, page) ? 1 : 0;
  return count;
}

int64_t LayerGroup::num_lacking(int64_t sequence, int64_t length) const {
  return std::max<int64_t>(0, geometry.pages_for(length) - num_pages[static_cast<size_t>(sequence)]);
}

void LayerGroup::require_free(int64_t needed) const {
  if (needed <= num_free) return;
  fail(Status::CacheFull,
       "cache has no room: %" PRId64 " pages needed, %" PRId64 " free of %" PRId64
       ": expected a cache with more pages, or sequences that are rewound",
       needed, static_cast<int64_t>(num_free), geometry.num_pages);
}

}  // namespace heed
