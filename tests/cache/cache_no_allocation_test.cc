// SPDX-License-Identifier: Apache-2.0
// With a workspace, calls with a cache allocate nothing, of whatever layout and dtype it is: not from the C library either, and
// on no thread.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "cache/support/step.h"
#include "property/support/host_tensor.h"
#include "support/platform/allocation_hook.h"

namespace heed::cache_test {
namespace {

enum class Call { Forward, Fill };

void expect_no_allocation(const CachedLayer& layer, heed_cache* cache, const std::vector<Part>& parts, Form form,
                          Call call = Call::Forward) {
  form.with_workspace = true;
  const Step step(layer, cache, parts, form);
  const int64_t before = num_allocations_of_all();
  const heed_status status = call == Call::Fill ? step.fill() : step.run();
  const int64_t after = num_allocations_of_all();
  EXPECT_EQ(status, HEED_OK) << heed_last_error();
  EXPECT_EQ(after - before, 0) << (form.is_packed ? "packed" : "padded") << (call == Call::Fill ? ", fill" : "")
                               << (form.use == HEED_CACHE_READ ? ", read" : "");
}

// Prompts of two sequences, steps across the end of a page, rows that read, and memory that is filled.
void expect_no_allocation_in_a_text(const CachedLayer& layer, const heed_cache_options& options, int64_t num_rows) {
  for (const bool is_packed : {false, true}) {
    const Cache cache = make_cache(layer, options);
    Form form;
    form.is_packed = is_packed;
    const auto part_of = [](int64_t sequence, int64_t first, int64_t count) {
      return Part{sequence, counting_from(first, count), {}};
    };
    expect_no_allocation(layer, cache.get(), {part_of(0, 0, num_rows), part_of(1, 0, 5)}, form);
    for (int64_t row = 0; row < 20; ++row)
      expect_no_allocation(layer, cache.get(), {part_of(1, 5 + row, 1), part_of(0, num_rows + row, 1)}, form);
    Form reading = form;
    reading.use = HEED_CACHE_READ;
    expect_no_allocation(layer, cache.get(), {{0, {7, 8}, {3, 4}}, {1, {9}, {2}}}, reading);
    expect_no_allocation(layer, cache.get(), {part_of(0, num_rows + 20, 4), part_of(1, 25, 2)}, form, Call::Fill);
  }
}

TEST(CacheNoAllocation, InCallsWithCachesOfAnyLayoutAndDType) {
  LayerSpec spec = grouped_heads(2, 2, 8, 6);
  spec.rope = rope_of(HEED_ROPE_HALF);
  const CachedLayer layer(spec);
  for (const heed_dtype dtype : kCacheDTypes) {
    for (const heed_cache_options& options : each_layout(layer.contiguous(100, dtype), 2)) {
      SCOPED_TRACE(std::string(name_of_layout(options)) + " of " + property::name_of(dtype));
      expect_no_allocation_in_a_text(layer, options, 40);
    }
  }
}

TEST(CacheNoAllocation, InCallsThatRotateKeysAsTheyAreRead) {
  LayerSpec spec = grouped_heads(2, 2, 8, 6);
  spec.rope = rope_of(HEED_ROPE_INTERLEAVED);
  const CachedLayer layer(spec);
  heed_cache_options options = layer.contiguous(100, HEED_I8);
  options.unrotated_keys = 1;
  expect_no_allocation_in_a_text(layer, as_paged(with_sequences(options, 2), 16, 14), 40);
}

TEST(CacheNoAllocation, OnTwoThreads) {
  const CachedLayer layer(grouped_heads(2, 2, 64, 64), 2);
  for (const heed_dtype dtype : {HEED_F32, HEED_I8}) {
    SCOPED_TRACE(property::name_of(dtype));
    expect_no_allocation_in_a_text(layer, as_paged(with_sequences(layer.contiguous(700, dtype), 2), 64, 22), 600);
  }
}

}  // namespace
}  // namespace heed::cache_test
