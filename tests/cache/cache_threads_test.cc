// SPDX-License-Identifier: Apache-2.0
// Two calls on one cache at the same time: the second one that would change it is refused, and calls that read run together.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "cache/support/step.h"

namespace heed::cache_test {
namespace {

// An executor that makes other calls before it runs the items.
struct Host {
  std::function<void()> during;

  heed_executor executor() {
    heed_executor result = HEED_EXECUTOR_INIT;
    result.num_threads = 2;
    result.user = this;
    result.parallel_for = [](void* user, int64_t num_items, void (*run)(void* task, int64_t item), void* task) {
      auto* self = static_cast<Host*>(user);
      if (self->during) std::exchange(self->during, {})();
      for (int64_t item = 0; item < num_items; ++item) run(task, item);
    };
    return result;
  }
};

// Large enough that a call of 300 rows asks for threads.
LayerSpec large_layer() {
  LayerSpec spec = grouped_heads(2, 2, 64, 64);
  spec.rope = rope_of(HEED_ROPE_HALF);
  return spec;
}

TEST(CacheThreads, ASecondCallThatChangesTheCacheIsBusy) {
  Host host;
  const heed_executor executor = host.executor();
  const CachedLayer layer(large_layer(), 0, &executor);
  const Cache cache = make_cache(layer, with_sequences(layer.contiguous(700), 2));
  forward_one(layer, cache.get(), {1, counting_from(0, 5)});
  const std::vector<uint8_t> bytes = saved(cache.get(), 1);
  Step step(layer, cache.get(), {{0, counting_from(0, 600)}});
  Step other(layer, cache.get(), {{1, counting_from(5, 3)}});
  Form reading;
  reading.use = HEED_CACHE_READ;
  Step reader(layer, cache.get(), {{1, counting_from(5, 3), {5, 6, 7}}}, reading);
  static constexpr int64_t kSources[] = {1, 1};
  size_t num_bytes = 0;
  int num_calls = 0;
  host.during = [&] {
    ++num_calls;
    EXPECT_EQ(other.run(), HEED_ERROR_BUSY);
    EXPECT_NE(std::string(heed_last_error()).find("cache is in use"), std::string::npos) << heed_last_error();
    EXPECT_EQ(reader.run(), HEED_ERROR_BUSY);
    EXPECT_EQ(other.fill(), HEED_ERROR_BUSY);
    heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
    EXPECT_EQ(heed_layer_create_outputs(layer.layer(), &other.inputs, HEED_WANT_OUTPUT, &made), HEED_ERROR_BUSY);
    EXPECT_EQ(made.output, nullptr);
    EXPECT_EQ(heed_layer_workspace_size(layer.layer(), &other.inputs, nullptr, &num_bytes), HEED_ERROR_BUSY);
    EXPECT_EQ(heed_layer_explain(layer.layer(), &other.inputs, nullptr, nullptr, 0, &num_bytes), HEED_ERROR_BUSY);
    EXPECT_EQ(heed_cache_rewind(cache.get(), 1, 0), HEED_ERROR_BUSY);
    EXPECT_EQ(heed_cache_reserve(cache.get(), 1, 9), HEED_ERROR_BUSY);
    EXPECT_EQ(heed_cache_fork(cache.get(), 1, 2, 0), HEED_ERROR_BUSY);
    EXPECT_EQ(heed_cache_reorder(cache.get(), kSources, 2), HEED_ERROR_BUSY);
    EXPECT_EQ(heed_cache_accept(cache.get(), 1, 0, kSources, 0), HEED_ERROR_BUSY);
    EXPECT_EQ(heed_cache_discard(cache.get(), 1, 0, 1, 0), HEED_ERROR_BUSY);
    EXPECT_EQ(heed_cache_save_memory(cache.get(), 1, nullptr, 0, &num_bytes), HEED_ERROR_BUSY);
    EXPECT_EQ(heed_cache_load_memory(cache.get(), 1, bytes.data(), bytes.size()), HEED_ERROR_BUSY);
    // Getters need no lock.
    EXPECT_EQ(heed_cache_length(cache.get(), 1), 5);
    EXPECT_EQ(heed_cache_length(cache.get(), 0), 0);
  };
  ASSERT_EQ(step.run(), HEED_OK) << heed_last_error();
  EXPECT_EQ(num_calls, 1) << "the call is too small for threads";
  EXPECT_EQ(heed_cache_length(cache.get(), 0), 600);
  EXPECT_EQ(other.run(), HEED_OK) << heed_last_error();
}

TEST(CacheThreads, CallsThatReadRunTogether) {
  Host host;
  const heed_executor executor = host.executor();
  const CachedLayer layer(large_layer(), 0, &executor);
  const Cache cache = make_cache(layer, layer.contiguous(700));
  forward_one(layer, cache.get(), {0, counting_from(0, 300)});
  Form reading;
  reading.use = HEED_CACHE_READ;
  std::vector<int64_t> positions = counting_from(300, 200);
  Step step(layer, cache.get(), {{0, counting_from(300, 200), positions}}, reading);
  Step other(layer, cache.get(), {{0, counting_from(300, 3), counting_from(300, 3)}}, reading);
  size_t num_bytes = 0;
  int num_calls = 0;
  host.during = [&] {
    ++num_calls;
    EXPECT_EQ(other.run(), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_cache_save_memory(cache.get(), 0, nullptr, 0, &num_bytes), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_cache_rewind(cache.get(), 0, 0), HEED_ERROR_BUSY);
  };
  ASSERT_EQ(step.run(), HEED_OK) << heed_last_error();
  EXPECT_EQ(num_calls, 1) << "the call is too small for threads";
}

// A call keeps its cache alive, whoever destroys the handle meanwhile.
TEST(CacheThreads, ACacheMayBeDestroyedWhileACallUsesIt) {
  Host host;
  const heed_executor executor = host.executor();
  const CachedLayer layer(large_layer(), 0, &executor);
  Form form;
  for (const int32_t use : {HEED_CACHE_APPEND, HEED_CACHE_READ}) {
    form.use = use;
    const Part part{0, counting_from(300, 200), counting_from(300, 200)};
    const auto make_filled = [&] {
      Cache cache = make_cache(layer, as_paged(layer.contiguous(700), 64, 11));
      forward_one(layer, cache.get(), {0, counting_from(0, 300)});
      return cache;
    };
    const RowBits expected = row_bits(forward_one(layer, make_filled().get(), part, form));
    Cache cache = make_filled();
    const Step step(layer, cache.get(), {part}, form);
    int num_calls = 0;
    host.during = [&] {
      ++num_calls;
      std::thread([&] { cache.reset(); }).join();
    };
    ASSERT_EQ(step.run(), HEED_OK) << heed_last_error();
    EXPECT_EQ(num_calls, 1) << "the call is too small for threads";
    EXPECT_TRUE(same_rows(expected, row_bits(step.results().front())));
  }
}

// Threads append to caches of their own and read a common one, while another one watches its length.
TEST(CacheThreads, ThreadsShareALayerAndACacheThatTheyRead) {
  const CachedLayer layer(grouped_heads(2, 2, 8, 8));
  const Cache common = make_cache(layer, layer.contiguous(64));
  forward_one(layer, common.get(), {0, counting_from(0, 40)});
  Form reading;
  reading.use = HEED_CACHE_READ;
  const RowBits expected = row_bits(forward_one(layer, common.get(), {0, {40}}, reading));
  const RowBits of_own = append_in_pieces(layer, make_cache(layer, layer.contiguous(64)).get(), 0, counting_from(0, 30),
                                          std::vector<int64_t>(30, 1));
  std::atomic<bool> is_done = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const Cache own = make_cache(layer, layer.contiguous(64));
      EXPECT_TRUE(
          same_rows(of_own, append_in_pieces(layer, own.get(), 0, counting_from(0, 30), std::vector<int64_t>(30, 1))));
      for (int round = 0; round < 20; ++round)
        EXPECT_TRUE(same_rows(expected, row_bits(forward_one(layer, common.get(), {0, {40}}, reading))));
    });
  }
  std::thread watcher([&] {
    while (!is_done) EXPECT_EQ(heed_cache_length(common.get(), 0), 40);
  });
  for (std::thread& thread : threads) thread.join();
  is_done = true;
  watcher.join();
}

// Another thread appends; the length that a reader sees only rises.
TEST(CacheThreads, TheLengthMayBeReadMeanwhile) {
  const CachedLayer layer(grouped_heads(1, 1, 8, 8));
  const Cache cache = make_cache(layer, as_paged(layer.contiguous(200), 16, 13));
  std::thread writer(
      [&] { append_in_pieces(layer, cache.get(), 0, counting_from(0, 200), std::vector<int64_t>(200, 1)); });
  int64_t before = 0;
  while (before < 200) {
    const int64_t length = heed_cache_length(cache.get(), 0);
    ASSERT_GE(length, before);
    ASSERT_LE(heed_cache_free_pages(cache.get()), 13);
    before = length;
  }
  writer.join();
}

}  // namespace
}  // namespace heed::cache_test
