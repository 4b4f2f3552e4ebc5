// SPDX-License-Identifier: Apache-2.0
// Calls with a cache use their workspace and nothing beside it, for any number of threads, and whatever the sequences held
// before. Each workspace has exactly the size that heed_layer_workspace_size says, between guards that each call checks.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "cache/support/step.h"
#include "property/support/device.h"
#include "property/support/random.h"

namespace heed::cache_test {
namespace {

using property::Random;

// Runs the items on the calling thread, the last one first. So the last worker runs all tasks of a loop that is shared, and
// a workspace with room for fewer workers is too small in every run.
heed_executor last_worker_first(int32_t num_threads) {
  heed_executor executor = HEED_EXECUTOR_INIT;
  executor.num_threads = num_threads;
  executor.parallel_for = [](void*, int64_t num_items, void (*run)(void* task, int64_t item), void* task) {
    for (int64_t item = num_items - 1; item >= 0; --item) run(task, item);
  };
  return executor;
}

struct Case {
  int64_t num_kv_heads = 1;
  int64_t group = 1;
  int64_t head_size = 32;
  heed_dtype dtype = HEED_F32;  // of the cache
  int32_t layout = HEED_CACHE_CONTIGUOUS;
  int64_t num_sinks = 0;      // of a ring
  int64_t capacity = 64;      // of a ring; other layouts have room for all rows
  int64_t num_before = 0;     // rows of each sequence before the call
  int64_t num_rows = 1;       // of the call
  int64_t num_sequences = 1;  // of the call
  int32_t use = HEED_CACHE_APPEND;
  bool with_weights = false;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.num_kv_heads << " key heads, groups of " << c.group << ", head size " << c.head_size << ", cache of "
             << property::name_of(c.dtype) << ", layout " << c.layout << ", " << c.num_sinks << " sinks, capacity "
             << c.capacity << ", " << c.num_sequences << " sequences of " << c.num_before << " and " << c.num_rows
             << " rows, use " << c.use << (c.with_weights ? ", weights" : "");
}

heed_cache_options options_of(const CachedLayer& layer, const Case& c) {
  const int64_t capacity = c.layout == HEED_CACHE_RING ? c.capacity : c.num_before + c.num_rows;
  const heed_cache_options contiguous = with_sequences(layer.contiguous(capacity, c.dtype), c.num_sequences);
  if (c.layout == HEED_CACHE_RING) return as_ring(contiguous, c.num_sinks);
  if (c.layout == HEED_CACHE_PAGED) return as_paged(contiguous, 16, c.num_sequences * (capacity / 16 + 1));
  return contiguous;
}

// The sequences before the call, as heed_cache_save_memory gives them.
std::vector<std::vector<uint8_t>> sequences_before(const CachedLayer& layer, const Case& c) {
  const Cache cache = make_cache(layer, options_of(layer, c));
  std::vector<std::vector<uint8_t>> sequences;
  for (int64_t sequence = 0; sequence < c.num_sequences; ++sequence) {
    fill_cache(layer, cache.get(), {{sequence, counting_from(100 * sequence, c.num_before)}});
    sequences.push_back(saved(cache.get(), sequence));
  }
  return sequences;
}

std::vector<RowBits> results_of(const CachedLayer& layer, const Case& c,
                                const std::vector<std::vector<uint8_t>>& before) {
  const Cache cache = make_cache(layer, options_of(layer, c));
  std::vector<Part> parts;
  for (int64_t sequence = 0; sequence < c.num_sequences; ++sequence) {
    if (c.num_before > 0) load_saved(cache.get(), sequence, before[static_cast<size_t>(sequence)]);
    parts.push_back({sequence, counting_from(100 * sequence + c.num_before, c.num_rows)});
  }
  Form form;
  form.use = c.use;
  form.with_workspace = true;
  form.with_weights = c.with_weights;
  std::vector<RowBits> bits;
  for (const property::Results& results : forward(layer, cache.get(), parts, form)) bits.push_back(row_bits(results));
  return bits;
}

void expect_that_threads_change_nothing(const Case& c) {
  SCOPED_TRACE(testing::Message() << c);
  const LayerSpec spec = grouped_heads(c.num_kv_heads, c.group, c.head_size, c.head_size);
  const CachedLayer alone(spec, 1);
  const auto before = c.num_before > 0 ? sequences_before(alone, c) : std::vector<std::vector<uint8_t>>();
  const std::vector<RowBits> expected = results_of(alone, c, before);
  const auto check = [&](const CachedLayer& layer) {
    const std::vector<RowBits> bits = results_of(layer, c, before);
    ASSERT_EQ(bits.size(), expected.size());
    for (size_t part = 0; part < bits.size(); ++part) EXPECT_TRUE(same_rows(bits[part], expected[part])) << part;
  };
  for (const int32_t num_threads : {2, 3, 16}) {
    SCOPED_TRACE(testing::Message() << num_threads << " threads");
    const heed_executor executor = last_worker_first(num_threads);
    check(CachedLayer(spec, 0, &executor));
    check(CachedLayer(spec, num_threads));
  }
}

TEST(CacheWorkspace, SufficesForPromptsWhoseRowsAreLittleMoreThanOneTask) {
  for (const auto& [group, num_rows] : std::vector<std::pair<int64_t, int64_t>>{{8, 60}, {3, 105}, {4, 80}, {1, 257}}) {
    Case c;
    c.group = group;
    c.num_rows = num_rows;
    expect_that_threads_change_nothing(c);
  }
}

TEST(CacheWorkspace, SufficesForStepsOverARingThatHasSeenALongText) {
  for (const int64_t num_heads : {8, 3}) {
    Case c;
    c.num_kv_heads = num_heads;
    c.layout = HEED_CACHE_RING;
    c.num_before = 5000;
    expect_that_threads_change_nothing(c);
  }
}

TEST(CacheWorkspace, SufficesForRandomCalls) {
  Random random(4107);
  for (int64_t round = 0; round < property::num_rounds(120) && !HasFailure(); ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    Case c;
    c.num_kv_heads = 1 + random.below(3);
    c.group = random.one_of(std::vector<int64_t>{1, 2, 3, 5, 8});
    c.head_size = random.one_of(std::vector<int64_t>{4, 15, 16, 17, 33, 64});
    c.dtype = random.one_of(kCacheDTypes);
    c.layout = random.one_of(std::vector<int32_t>{HEED_CACHE_CONTIGUOUS, HEED_CACHE_RING, HEED_CACHE_PAGED});
    const bool is_ring = c.layout == HEED_CACHE_RING;
    c.num_sinks = is_ring ? random.below(20) : 0;
    c.capacity = 1 + random.below(200);
    c.num_before = static_cast<int64_t>(random.magnitude(1, is_ring ? 5000 : 1500)) - 1;
    c.num_rows = static_cast<int64_t>(random.magnitude(1, 300));
    c.num_sequences = 1 + random.below(3);
    c.use = c.num_before > 0 && random.chance(0.2) ? HEED_CACHE_READ : HEED_CACHE_APPEND;
    c.with_weights = c.num_before < 200 && random.chance(0.3);
    expect_that_threads_change_nothing(c);
  }
}

}  // namespace
}  // namespace heed::cache_test
