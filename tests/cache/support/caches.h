// SPDX-License-Identifier: Apache-2.0
// Caches, and what they hold.
#pragma once

#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "cache/support/cached_layer.h"
#include "property/support/handles.h"

namespace heed::cache_test {

using Cache = std::unique_ptr<heed_cache, property::Destroyer<heed_cache_destroy>>;

Cache make_cache(heed_context* context, const heed_cache_options& options);
Cache make_cache(const CachedLayer& layer, const heed_cache_options& options);

// The dtypes that caches have.
inline const std::vector<heed_dtype> kCacheDTypes = {HEED_F32, HEED_F16, HEED_BF16, HEED_I8};

// The same cache with another member.
heed_cache_options with_sequences(heed_cache_options options, int64_t max_sequences);
heed_cache_options with_capacity(heed_cache_options options, int64_t capacity);
// A ring, whose keys are rotated.
heed_cache_options as_ring(heed_cache_options options, int64_t num_sinks);
heed_cache_options as_paged(heed_cache_options options, int64_t page_size, int64_t num_pages);

// A contiguous cache in each layout, with max_sequences sequences of its capacity: contiguous, a ring unless it has
// unrotated keys, and pages of 16 and 64 rows that suffice for all.
std::vector<heed_cache_options> each_layout(const heed_cache_options& contiguous, int64_t max_sequences);

const char* name_of_layout(const heed_cache_options& options);

// What heed_cache_save_memory gives.
std::vector<uint8_t> saved(const heed_cache* cache, int64_t sequence);
void load_saved(heed_cache* cache, int64_t sequence, const std::vector<uint8_t>& bytes);

// A row of a cache: its key and its value in each key head, (Hkv, D) and (Hkv, Dv), as the bytes of F32.
struct KeptRow {
  std::vector<uint8_t> key;
  std::vector<uint8_t> value;

  bool operator==(const KeptRow&) const = default;
};

// The rows that a layer keeps of a sequence; `count` is how many they are.
std::vector<KeptRow> kept_rows(const CachedLayer& layer, const heed_cache* cache, int64_t layer_number,
                               int64_t sequence, int64_t count);

// Whether a layer keeps the same keys and values of two sequences of `count` rows, none of which was dropped.
testing::AssertionResult same_kept_rows(const CachedLayer& layer, const heed_cache* a, int64_t sequence_of_a,
                                        const heed_cache* b, int64_t sequence_of_b, int64_t count);

// All that a caller can see of a cache whose layers have the same rows.
struct CacheState {
  std::vector<std::vector<uint8_t>> saved;  // each sequence
  std::vector<int64_t> lengths;
  std::vector<int64_t> firsts;
  int64_t num_free_pages = 0;

  bool operator==(const CacheState&) const = default;
};
CacheState state_of(const heed_cache* cache, int64_t num_sequences);

// Whether the two are equal, and if not, in what.
testing::AssertionResult same_state(const CacheState& a, const CacheState& b);

}  // namespace heed::cache_test
