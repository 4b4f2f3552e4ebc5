// SPDX-License-Identifier: Apache-2.0
// Beams: the pages of those that are replaced, and lists without elements.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>

#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "cache/support/step.h"

namespace heed::cache_test {
namespace {

// Sequence 0 has 20 rows in 2 pages, sequence 1 has 5 rows in 1 page, and of 8 pages 5 are free.
Cache two_beams(const CachedLayer& layer) {
  Cache cache = make_cache(layer, as_paged(with_sequences(layer.contiguous(100), 3), 16, 8));
  forward(layer, cache.get(), {{0, counting_from(0, 20)}, {1, counting_from(50, 5)}});
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 5);
  return cache;
}

TEST(CacheReorder, PagesThatABeamReservedAreFreeOnceItIsReplaced) {
  const CachedLayer layer(grouped_heads(1, 2, 8, 8));
  const Cache cache = two_beams(layer);
  property::check(heed_cache_reserve(cache.get(), 1, 48));
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 3);
  const int64_t to_0[] = {0, 0};
  property::check(heed_cache_reorder(cache.get(), to_0, 2));
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 6);
  EXPECT_TRUE(same_kept_rows(layer, cache.get(), 0, cache.get(), 1, 20));
  // Each beam needs its own copy of the page that it writes to: one of them keeps the page.
  forward(layer, cache.get(), {{0, {20}}, {1, {21}}});
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 5);
}

// The copy has the pages that the source reserved, too, and takes none.
TEST(CacheReorder, ReservedPagesOfASourceAreShared) {
  const CachedLayer layer(grouped_heads(1, 2, 8, 8));
  const Cache cache = two_beams(layer);
  property::check(heed_cache_reserve(cache.get(), 0, 64));
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 3);
  const int64_t swapped[] = {1, 0};
  property::check(heed_cache_reorder(cache.get(), swapped, 2));
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 3);
  const int64_t to_1[] = {1, 1, 1};
  property::check(heed_cache_reorder(cache.get(), to_1, 3));
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 4);
  for (int64_t sequence = 0; sequence < 3; ++sequence) {
    EXPECT_EQ(heed_cache_length(cache.get(), sequence), 20);
    property::check(heed_cache_rewind(cache.get(), sequence, 0));
  }
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 8);
}

TEST(CacheReorder, ListsWithoutElementsMayBeNull) {
  const CachedLayer layer(grouped_heads(1, 2, 8, 8));
  const Cache cache = two_beams(layer);
  const CacheState before = state_of(cache.get(), 3);
  EXPECT_EQ(heed_cache_reorder(cache.get(), nullptr, 0), HEED_OK) << heed_last_error();
  EXPECT_TRUE(same_state(before, state_of(cache.get(), 3)));
  for (const int64_t sequence : {0, 1, 2}) {
    const int64_t length = heed_cache_length(cache.get(), sequence);
    EXPECT_EQ(heed_cache_accept(cache.get(), sequence, length, nullptr, 0), HEED_OK) << heed_last_error();
  }
  EXPECT_TRUE(same_state(before, state_of(cache.get(), 3)));
  // No row of the drafts is accepted.
  EXPECT_EQ(heed_cache_accept(cache.get(), 0, 18, nullptr, 0), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_cache_length(cache.get(), 0), 18);
}

}  // namespace
}  // namespace heed::cache_test
