// SPDX-License-Identifier: Apache-2.0
// The promises about bits, one by one: what a row's results do not depend on. Lengths are around the ends of tiles (16
// rows), pages, key blocks (256) and chunks (512).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cache/support/caches.h"
#include "cache/support/draft_tree.h"
#include "cache/support/rows.h"
#include "cache/support/sample_layers.h"
#include "cache/support/step.h"
#include "capi/support/objects.h"
#include "property/support/random.h"

namespace heed::cache_test {
namespace {

using property::Random;

int64_t sum_of(const std::vector<int64_t>& sizes) {
  int64_t sum = 0;
  for (const int64_t size : sizes) sum += size;
  return sum;
}

// `count` pieces of one row.
std::vector<int64_t> single_rows(int64_t count) { return std::vector<int64_t>(static_cast<size_t>(count), 1); }

void append_rows(RowBits& all, const RowBits& more) { all.insert(all.end(), more.begin(), more.end()); }

// A mask (K, K) of what sees(query, key) says.
template <typename Sees>
property::Input mask_of(int64_t num_queries, int64_t num_keys, Sees sees) {
  property::Array mask = property::filled({num_queries, num_keys}, 0.0);
  for (int64_t q = 0; q < num_queries; ++q) {
    for (int64_t k = 0; k < num_keys; ++k) mask.values[static_cast<size_t>(q * num_keys + k)] = sees(q, k) ? 1.0 : 0.0;
  }
  return property::make_input(mask, HEED_BOOL);
}

// ---- where rows are kept --------------------------------------------------------------------------------------------

TEST(Cache, PagesOfAnySizeChangeNothing) {
  for_each_cache(1, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    std::vector<int64_t> counts = {1, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257};
    if (contiguous.dtype == HEED_F16 && contiguous.unrotated_keys == 0) counts.insert(counts.end(), {1023, 1024, 1025});
    for (const int64_t count : counts) {
      const std::vector<int64_t> rows = counting_from(0, count);
      const RowBits expected = row_bits(replay(layer, contiguous, rows));
      for (const int64_t page_size : {16, 32, 64, 128}) {
        const int64_t num_pages = (count + page_size - 1) / page_size;
        const Cache cache = make_cache(layer, as_paged(with_capacity(contiguous, count), page_size, num_pages));
        EXPECT_TRUE(same_rows(row_bits(forward_one(layer, cache.get(), {0, rows})), expected))
            << count << " rows in pages of " << page_size;
      }
    }
  });
}

// A cache of 8 MiB, for which large pages of the system are requested.
TEST(Cache, SizesOfMemoryChangeNothing) {
  const CachedLayer layer(grouped_heads(2, 2, 8, 8));
  const Part prompt = {0, counting_from(0, 40)};
  const Cache small = make_cache(layer, layer.contiguous(64));
  const Cache large = make_cache(layer, layer.contiguous(65536));
  EXPECT_TRUE(
      same_rows(row_bits(forward_one(layer, small.get(), prompt)), row_bits(forward_one(layer, large.get(), prompt))));
  EXPECT_EQ(saved(small.get(), 0), saved(large.get(), 0));
}

// Three sequences take pages in turn, and give some back, so that those of one sequence lie anywhere.
TEST(Cache, PlacesOfPagesChangeNothing) {
  for_each_cache(200, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const Cache cache = make_cache(layer, as_paged(with_sequences(contiguous, 3), 16, 24));
    const std::vector<int64_t> sizes = {20, 1, 11, 32, 17, 1, 1, 40};
    const std::vector<int64_t> rows = counting_from(0, sum_of(sizes));
    RowBits actual;
    int64_t other_row = 5000;
    Random random(21);
    for (const std::vector<int64_t>& piece : cut(rows, sizes)) {
      for (const int64_t other : {1, 2}) {
        const int64_t length = heed_cache_length(cache.get(), other);
        if (length > 60 || random.chance(0.3))
          property::check(heed_cache_rewind(cache.get(), other, random.chance(0.5) ? 0 : std::min<int64_t>(length, 5)));
        forward_one(layer, cache.get(), {other, counting_from(other_row, 25)});
        other_row += 25;
      }
      append_rows(actual, row_bits(forward_one(layer, cache.get(), {0, piece})));
    }
    EXPECT_TRUE(same_rows(actual, row_bits(replay(layer, contiguous, rows))));
  });
}

TEST(Cache, ARingIsAWindow) {
  const std::vector<int64_t> sizes = {1, 17, 3, 64, 1, 150, 1, 1, 15, 65, 90};
  const std::vector<int64_t> rows = counting_from(0, sum_of(sizes));
  for (const int64_t capacity : {1, 15, 16, 17, 64, 100}) {
    for (const NamedLayer& named : sample_layers()) {
      const CachedLayer layer(named.spec);
      const CachedLayer windowed(with_window(named.spec, capacity - 1));
      for (const heed_dtype dtype : kCacheDTypes) {
        SCOPED_TRACE(std::string(named.name) + ", cache of " + property::name_of(dtype));
        const Cache ring = make_cache(layer, as_ring(layer.contiguous(capacity, dtype), 0));
        const RowBits actual = append_in_pieces(layer, ring.get(), 0, rows, sizes);
        EXPECT_TRUE(same_rows(actual, row_bits(replay(windowed, layer.contiguous(1, dtype), rows))))
            << "a ring of " << capacity << " rows";
        EXPECT_EQ(heed_cache_length(ring.get(), 0), sum_of(sizes));
        EXPECT_GT(heed_cache_first(ring.get(), 0), 0) << "no row was dropped";
      }
    }
  }
}

TEST(Cache, ARingKeepsItsFirstRowsAsSinks) {
  const std::vector<int64_t> sizes = {2, 30, 1, 100, 1, 1, 64, 3};
  const std::vector<int64_t> rows = counting_from(0, sum_of(sizes));
  for (const auto& [capacity, num_sinks] : {std::pair{1, 1}, {16, 3}, {40, 16}, {17, 17}}) {
    Form masked;
    masked.mask = mask_of(sum_of(sizes), sum_of(sizes), [c = capacity, s = num_sinks](int64_t q, int64_t k) {
      return k <= q && (k > q - c || k < s);
    });
    for_each_cache(capacity,
                   [&, c = capacity, s = num_sinks](const CachedLayer& layer, const heed_cache_options& contiguous) {
                     if (contiguous.unrotated_keys != 0) return;
                     const Cache ring = make_cache(layer, as_ring(contiguous, s));
                     const RowBits actual = append_in_pieces(layer, ring.get(), 0, rows, sizes);
                     EXPECT_TRUE(same_rows(actual, row_bits(replay(layer, contiguous, rows, {}, masked))))
                         << "a ring of " << c << " rows and " << s << " sinks";
                   });
  }
}

// The narrower of ring and window decides.
TEST(Cache, ARingMayHaveAWindow) {
  const std::vector<int64_t> sizes = {40, 1, 90, 1, 1};
  const std::vector<int64_t> rows = counting_from(0, sum_of(sizes));
  const LayerSpec spec = sample_layers()[1].spec;
  for (const int64_t window : {10, 29, 50}) {
    const CachedLayer layer(with_window(spec, window));
    const CachedLayer narrower(with_window(spec, std::min<int64_t>(window, 29)));
    for (const heed_dtype dtype : kCacheDTypes) {
      const Cache ring = make_cache(layer, as_ring(layer.contiguous(30, dtype), 0));
      const RowBits actual = append_in_pieces(layer, ring.get(), 0, rows, sizes);
      EXPECT_TRUE(same_rows(actual, row_bits(replay(narrower, layer.contiguous(1, dtype), rows)))) << window;
    }
  }
}

// ---- what else is in a call -----------------------------------------------------------------------------------------

// Sequences of these lengths, and rows that one call appends to each.
const std::vector<int64_t> kLengths = {0, 17, 255, 64, 1};
const std::vector<int64_t> kNewRows = {3, 1, 0, 17, 65};
constexpr int64_t kBatch = 5;

std::vector<int64_t> rows_of_sequence(int64_t sequence, int64_t first, int64_t count) {
  return counting_from(1000 * sequence + first, count);
}

Part first_part(int64_t sequence) {
  return {sequence, rows_of_sequence(sequence, 0, kLengths[static_cast<size_t>(sequence)])};
}

Part new_part(int64_t sequence) {
  const auto index = static_cast<size_t>(sequence);
  return {sequence, rows_of_sequence(sequence, kLengths[index], kNewRows[index])};
}

// The results of the new rows of each sequence alone.
std::vector<RowBits> alone(const CachedLayer& layer, const heed_cache_options& contiguous) {
  std::vector<RowBits> results;
  for (int64_t sequence = 0; sequence < kBatch; ++sequence) {
    const Cache cache = make_cache(layer, contiguous);
    Part first = first_part(sequence);
    Part next = new_part(sequence);
    first.sequence = next.sequence = 0;
    forward_one(layer, cache.get(), first);
    results.push_back(row_bits(forward_one(layer, cache.get(), next)));
  }
  return results;
}

TEST(Cache, ARowIsTheSameInAnyBatch) {
  for_each_cache(400, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const std::vector<RowBits> expected = alone(layer, contiguous);
    Random random(31);
    for (const heed_cache_options& options : each_layout(contiguous, kBatch)) {
      for (const bool is_packed : {false, true}) {
        // All in order, then some in any order.
        for (int round = 0; round < 3; ++round) {
          const Cache cache = make_cache(layer, options);
          Form form;
          form.is_packed = is_packed;
          form.padded_rows = round == 1 ? 80 : 0;
          form.index_dtype = round == 1 ? HEED_I32 : HEED_I64;
          form.with_workspace = round == 2;
          std::vector<Part> first;
          for (int64_t sequence = 0; sequence < kBatch; ++sequence) first.push_back(first_part(sequence));
          forward(layer, cache.get(), first, form);
          std::vector<int64_t> order = counting_from(0, kBatch);
          for (size_t i = order.size(); round > 0 && i > 1; --i)
            std::swap(order[i - 1], order[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
          if (round > 0) order.resize(static_cast<size_t>(1 + random.below(kBatch)));
          form.names_sequences = round > 0;
          std::vector<Part> parts;
          for (const int64_t sequence : order) parts.push_back(new_part(sequence));
          const std::vector<property::Results> results = forward(layer, cache.get(), parts, form);
          for (size_t b = 0; b < parts.size(); ++b) {
            EXPECT_TRUE(same_rows(row_bits(results[b]), expected[static_cast<size_t>(order[b])]))
                << "sequence " << order[b] << " of " << name_of_layout(options) << (is_packed ? ", packed" : ", padded")
                << ", round " << round;
          }
        }
      }
    }
  });
}

// A prompt, then batches of prompts and single rows, on a layer that is large enough for several threads.
std::vector<RowBits> prompts_and_steps(const CachedLayer& layer, heed_cache_options options) {
  options = as_paged(with_sequences(options, 4), 32, 100);
  const Cache cache = make_cache(layer, options);
  Form packed;
  packed.is_packed = true;
  std::vector<RowBits> all;
  const auto call = [&](const std::vector<Part>& parts, const Form& form) {
    for (const property::Results& results : forward(layer, cache.get(), parts, form)) all.push_back(row_bits(results));
  };
  call({{0, rows_of_sequence(0, 0, 600)}, {1, rows_of_sequence(1, 0, 257)}}, packed);
  call({{1, rows_of_sequence(1, 257, 1)}, {2, rows_of_sequence(2, 0, 70)}, {0, rows_of_sequence(0, 600, 1)}}, {});
  call({{3, rows_of_sequence(3, 0, 300)}, {0, rows_of_sequence(0, 601, 4)}, {2, rows_of_sequence(2, 70, 1)}}, packed);
  for (int64_t step = 0; step < 3; ++step) {
    std::vector<Part> parts;
    const std::vector<int64_t> lengths = {605, 258, 71, 300};
    for (int64_t sequence = 0; sequence < 4; ++sequence)
      parts.push_back({sequence, rows_of_sequence(sequence, lengths[static_cast<size_t>(sequence)] + step, 1)});
    call(parts, step == 1 ? packed : Form());
  }
  return all;
}

LayerSpec large_layer() {
  LayerSpec spec = grouped_heads(2, 4, 32, 32);
  spec.rope = rope_of(HEED_ROPE_HALF);
  spec.input_size = 64;
  return spec;
}

void expect_same(const std::vector<RowBits>& actual, const std::vector<RowBits>& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_TRUE(same_rows(actual[i], expected[i])) << "part " << i << ", " << what;
}

TEST(Cache, AnyNumberOfThreadsGivesTheSameBits) {
  const CachedLayer one_thread(large_layer(), 1);
  for (const heed_dtype dtype : kCacheDTypes) {
    SCOPED_TRACE(property::name_of(dtype));
    const heed_cache_options options = one_thread.contiguous(700, dtype);
    const std::vector<RowBits> expected = prompts_and_steps(one_thread, options);
    for (int32_t num_threads = 2; num_threads <= 4; ++num_threads) {
      const CachedLayer layer(large_layer(), num_threads);
      expect_same(prompts_and_steps(layer, options), expected, std::to_string(num_threads) + " threads");
    }
  }
}

// An executor of the host, which counts its calls and runs every item on a thread of its own, the last one first.
TEST(Cache, ThreadsOfTheHostGiveTheSameBits) {
  const CachedLayer one_thread(large_layer(), 1);
  int64_t num_calls = 0;
  heed_executor executor = HEED_EXECUTOR_INIT;
  executor.num_threads = 3;
  executor.user = &num_calls;
  executor.parallel_for = [](void* user, int64_t num_items, void (*run)(void* task, int64_t item), void* task) {
    ++*static_cast<int64_t*>(user);
    std::vector<std::thread> threads;
    for (int64_t item = num_items; item-- > 0;) threads.emplace_back(run, task, item);
    for (std::thread& thread : threads) thread.join();
  };
  const CachedLayer layer(large_layer(), 0, &executor);
  for (const heed_dtype dtype : {HEED_F32, HEED_I8}) {
    const heed_cache_options options = layer.contiguous(700, dtype);
    expect_same(prompts_and_steps(layer, options), prompts_and_steps(one_thread, options), property::name_of(dtype));
  }
  EXPECT_GT(num_calls, 0) << "the calls are too small for threads";
}

TEST(Cache, WorkspacesAndRequestsChangeNothing) {
  for_each_cache(100, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const std::vector<int64_t> rows = counting_from(0, 40);
    const std::vector<int64_t> more = counting_from(40, 21);
    std::optional<property::Results> expected;
    for (int wanted = 0; wanted < 8; ++wanted) {
      const Cache cache = make_cache(layer, as_paged(contiguous, 16, 7));
      forward_one(layer, cache.get(), {0, rows});
      Form form;
      form.with_workspace = (wanted & 1) != 0;
      form.with_log_sum_exp = (wanted & 2) == 0;
      form.with_weights = (wanted & 4) != 0;
      const property::Results results = forward_one(layer, cache.get(), {0, more}, form);
      if (!expected) expected = results;
      EXPECT_TRUE(property::same_bits(results.output, expected->output)) << wanted;
      if (form.with_log_sum_exp) {
        EXPECT_TRUE(property::same_bits(results.log_sum_exp, expected->log_sum_exp)) << wanted;
      }
    }
  });
}

// The cache's rows and a fill need no more memory than heed_layer_workspace_size says, also where it only knows shapes.
TEST(Cache, WorkspaceSizesSufficeForFillsAndForUnknownSequences) {
  for_each_cache(100, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const heed_cache_options options = as_paged(with_sequences(contiguous, 2), 16, 14);
    const Cache cache = make_cache(layer, options);
    Form form;
    form.with_workspace = true;
    const auto with_bytes = [&](size_t num_bytes) {
      heed_workspace* workspace = nullptr;
      property::check(heed_workspace_create(layer.context(), num_bytes, &workspace));
      return property::Workspace(workspace);
    };
    Step filling(layer, cache.get(), {{1, counting_from(0, 40)}}, form);
    filling.inputs.keys = filling.inputs.queries;
    filling.inputs.queries = nullptr;
    const heed_layer_outputs none = HEED_LAYER_OUTPUTS_INIT;
    filling.outputs = none;
    const property::Workspace for_filling = with_bytes(filling.workspace_size());
    property::check(heed_layer_fill_cache(layer.layer(), &filling.inputs, for_filling.get()));
    ASSERT_EQ(heed_cache_length(cache.get(), 1), 40);

    Step appending(layer, cache.get(), {{1, counting_from(40, 3)}}, form);
    const size_t known = appending.workspace_size();
    const heed_tensor* const sequences = appending.cache.sequences;
    const capi_test::Tensor unknown = capi_test::make_shape_only(layer.context(), {1}, HEED_I64);
    appending.cache.sequences = unknown.get();
    const size_t of_any = appending.workspace_size();
    EXPECT_GE(of_any, known);
    appending.cache.sequences = sequences;
    property::check(appending.run_with(with_bytes(of_any).get()));
    ASSERT_EQ(heed_cache_length(cache.get(), 1), 43);
  });
}

// ---- how rows are cut into calls ------------------------------------------------------------------------------------

std::vector<int64_t> random_pieces(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<int64_t> sizes;
  while (count > 0) {
    const int64_t size = std::min(count, random.chance(0.5) ? 1 + random.below(4) : 1 + random.below(100));
    sizes.push_back(size);
    count -= size;
  }
  return sizes;
}

TEST(Cache, RowsMayBeCutIntoCallsAnyhow) {
  for_each_cache(300, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const int64_t count : {2, 17, 65, 257}) {
      const std::vector<int64_t> rows = counting_from(0, count);
      const RowBits expected = row_bits(replay(layer, contiguous, rows));
      std::vector<heed_cache_options> layouts = each_layout(contiguous, 1);
      if (count > 65) layouts = {layouts[2]};  // small pages
      std::vector<std::vector<int64_t>> cuts = {
          single_rows(count), {count - 1, 1}, {1, count - 1}, random_pieces(count, 1), random_pieces(count, 2)};
      for (const int64_t first : {15, 16, 17, 63, 64, 65, 255, 256}) {
        if (first < count) cuts.push_back({first, count - first});
      }
      for (const heed_cache_options& options : layouts) {
        for (const std::vector<int64_t>& sizes : cuts) {
          const Cache cache = make_cache(layer, options);
          EXPECT_TRUE(same_rows(append_in_pieces(layer, cache.get(), 0, rows, sizes), expected))
              << name_of_layout(options) << " in " << testing::PrintToString(sizes);
        }
      }
    }
  });
}

TEST(Cache, ManyRowsMayBeCutIntoCallsAnyhow) {
  constexpr int64_t kCount = 1027;
  const std::vector<int64_t> rows = counting_from(0, kCount);
  const CachedLayer layer(sample_layers()[1].spec);
  for (const heed_dtype dtype : kCacheDTypes) {
    SCOPED_TRACE(property::name_of(dtype));
    const heed_cache_options contiguous = layer.contiguous(kCount, dtype);
    const RowBits expected = row_bits(replay(layer, contiguous, rows));
    const std::vector<std::vector<int64_t>> cuts = {single_rows(kCount),  {1023, 1, 1, 1, 1},      {1024, 1, 2},
                                                    {1, 1025, 1},         {512, 512, 3},           {1025, 2},
                                                    {257, 256, 255, 259}, random_pieces(kCount, 3)};
    for (const std::vector<int64_t>& sizes : cuts) {
      const Cache cache = make_cache(layer, as_paged(contiguous, 64, 17));
      EXPECT_TRUE(same_rows(append_in_pieces(layer, cache.get(), 0, rows, sizes), expected))
          << sizes.size() << " pieces, the first of " << sizes.front();
    }
  }
}

// With a window whole tiles and blocks are skipped, and which they are must not depend on the call.
TEST(Cache, RowsWithAWindowMayBeCutIntoCallsAnyhow) {
  const std::vector<int64_t> rows = counting_from(0, 330);
  for (const int64_t window : {0, 15, 16, 17, 64, 255, 256, 300}) {
    const CachedLayer layer(with_window(sample_layers()[2].spec, window));
    for (const heed_dtype dtype : {HEED_F32, HEED_I8}) {
      const heed_cache_options contiguous = layer.contiguous(330, dtype);
      const RowBits expected = row_bits(replay(layer, contiguous, rows));
      for (const std::vector<int64_t>& sizes :
           {single_rows(330), std::vector<int64_t>{16, 240, 1, 1, 72}, random_pieces(330, 4)}) {
        const Cache cache = make_cache(layer, as_paged(contiguous, 16, 21));
        EXPECT_TRUE(same_rows(append_in_pieces(layer, cache.get(), 0, rows, sizes), expected)) << window;
      }
    }
  }
}

// ---- copies and earlier states --------------------------------------------------------------------------------------

TEST(Cache, ForkIsACopy) {
  for_each_cache(200, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const heed_cache_options& options : each_layout(contiguous, 2)) {
      for (const int64_t length : {0, 1, 15, 16, 17, 63, 64, 65, 90}) {
        const Cache cache = make_cache(layer, options);
        const std::vector<int64_t> rows = counting_from(0, 90);
        forward_one(layer, cache.get(), {0, rows});
        forward_one(layer, cache.get(), {1, counting_from(700, 30)});
        property::check(heed_cache_fork(cache.get(), 0, length, 1));
        ASSERT_EQ(heed_cache_length(cache.get(), 1), length);
        const std::vector<int64_t> first(rows.begin(), rows.begin() + length);
        // Both go on, each with rows of its own.
        for (const int64_t sequence : {1, 0}) {
          std::vector<int64_t> all = sequence == 1 ? first : rows;
          const std::vector<int64_t> more = counting_from(1000 * (sequence + 1), 20);
          all.insert(all.end(), more.begin(), more.end());
          const RowBits expected = last_rows(row_bits(replay(layer, contiguous, all)), more.size());
          EXPECT_TRUE(same_rows(row_bits(forward_one(layer, cache.get(), {sequence, more})), expected))
              << name_of_layout(options) << ", " << length << " rows, sequence " << sequence;
        }
      }
    }
  });
}

TEST(Cache, RewoundRowsWereNever) {
  for_each_cache(200, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const heed_cache_options& options : each_layout(contiguous, 1)) {
      for (const int64_t length : {0, 1, 15, 16, 17, 64, 65}) {
        const Cache cache = make_cache(layer, options);
        const std::vector<int64_t> rows = counting_from(0, length);
        if (length > 0) forward_one(layer, cache.get(), {0, rows});
        const CacheState before = state_of(cache.get(), 1);
        forward_one(layer, cache.get(), {0, counting_from(500, 70)});
        property::check(heed_cache_rewind(cache.get(), 0, length));
        if (length > 0) {
          EXPECT_TRUE(same_state(state_of(cache.get(), 1), before));
        }
        const std::vector<int64_t> more = counting_from(100, 40);
        std::vector<int64_t> all = rows;
        all.insert(all.end(), more.begin(), more.end());
        const RowBits expected = last_rows(row_bits(replay(layer, contiguous, all)), more.size());
        EXPECT_TRUE(same_rows(row_bits(forward_one(layer, cache.get(), {0, more})), expected))
            << name_of_layout(options) << ", " << length << " rows";
      }
    }
  });
}

// A ring goes back by some rows after it has dropped others.
TEST(Cache, ARingMayBeRewoundWithinItsSlack) {
  for_each_cache(24, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const Cache ring = make_cache(layer, as_ring(contiguous, 0));
    const Cache other = make_cache(layer, as_ring(contiguous, 0));
    forward_one(layer, ring.get(), {0, counting_from(0, 300)});
    forward_one(layer, other.get(), {0, counting_from(0, 300)});
    forward_one(layer, ring.get(), {0, counting_from(900, 10)});
    ASSERT_EQ(heed_cache_rewind(ring.get(), 0, 300), HEED_OK) << heed_last_error();
    const std::vector<int64_t> more = counting_from(300, 50);
    EXPECT_TRUE(same_rows(row_bits(forward_one(layer, ring.get(), {0, more})),
                          row_bits(forward_one(layer, other.get(), {0, more}))));
    // The rows that this length needs are gone.
    EXPECT_EQ(heed_cache_rewind(ring.get(), 0, 100), HEED_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(heed_cache_length(ring.get(), 0), 350);
  });
}

TEST(Cache, ReorderedSequencesAreCopies) {
  for_each_cache(120, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const std::vector<int64_t> lengths = {20, 64, 33, 1};
    const std::vector<int64_t> sources = {2, 2, 0};
    for (const heed_cache_options& options : each_layout(contiguous, 4)) {
      const Cache cache = make_cache(layer, options);
      std::vector<Part> parts;
      for (int64_t sequence = 0; sequence < 4; ++sequence)
        parts.push_back({sequence, rows_of_sequence(sequence, 0, lengths[static_cast<size_t>(sequence)])});
      forward(layer, cache.get(), parts);
      property::check(heed_cache_reorder(cache.get(), sources.data(), 3));
      std::vector<Part> next;
      for (int64_t sequence = 0; sequence < 4; ++sequence)
        next.push_back({sequence, counting_from(7000 + 10 * sequence, 5)});
      const std::vector<property::Results> results = forward(layer, cache.get(), next);
      for (int64_t sequence = 0; sequence < 4; ++sequence) {
        const auto index = static_cast<size_t>(sequence);
        std::vector<int64_t> all = parts[sequence < 3 ? static_cast<size_t>(sources[index]) : index].rows;
        all.insert(all.end(), next[index].rows.begin(), next[index].rows.end());
        EXPECT_TRUE(same_rows(row_bits(results[index]), last_rows(row_bits(replay(layer, contiguous, all)), 5)))
            << name_of_layout(options) << ", sequence " << sequence;
      }
    }
  });
}

TEST(Cache, WhatIsLoadedIsTheOriginal) {
  for_each_cache(150, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const int64_t length : {1, 16, 65}) {
      const std::vector<int64_t> more = counting_from(length, 40);
      const RowBits expected =
          last_rows(row_bits(replay(layer, contiguous, counting_from(0, length + 40))), more.size());
      for (const heed_cache_options& from : each_layout(contiguous, 1)) {
        const Cache original = make_cache(layer, from);
        forward_one(layer, original.get(), {0, counting_from(0, length)});
        const std::vector<uint8_t> bytes = saved(original.get(), 0);
        for (const heed_cache_options& to : each_layout(contiguous, 3)) {
          const Cache cache = make_cache(layer, to);
          load_saved(cache.get(), 2, bytes);
          EXPECT_TRUE(same_kept_rows(layer, cache.get(), 2, original.get(), 0, length));
          EXPECT_TRUE(same_rows(row_bits(forward_one(layer, cache.get(), {2, more})), expected))
              << name_of_layout(from) << " loaded as " << name_of_layout(to) << ", " << length << " rows";
        }
      }
    }
  });
}

// ---- drafts and gaps ------------------------------------------------------------------------------------------------

// A tree in which each draft follows the one before it is the text itself.
TEST(Cache, AChainOfDraftsIsCausal) {
  for_each_cache(120, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    LayerSpec spec = layer.spec();
    spec.options.causal = HEED_CAUSAL_NONE;
    const CachedLayer not_causal(spec);
    for (const int64_t length : {0, 14, 60}) {
      for (const int64_t count : {1, 5, 33}) {
        const std::vector<int64_t> drafts = counting_from(length, count);
        const RowBits expected = last_rows(row_bits(replay(layer, contiguous, counting_from(0, length + count))),
                                           static_cast<size_t>(count));
        for (const bool covers_all_keys : {false, true}) {
          Form tree;
          const int64_t columns = covers_all_keys ? length + count : count;
          tree.mask = mask_of(count, columns, [&](int64_t q, int64_t k) { return k <= q + columns - count; });
          for (const CachedLayer* of : {&layer, &not_causal}) {
            const Cache cache = make_cache(layer, as_paged(contiguous, 16, 8));
            if (length > 0) forward_one(layer, cache.get(), {0, counting_from(0, length)});
            EXPECT_TRUE(same_rows(row_bits(forward_one(*of, cache.get(), {0, drafts}, tree)), expected))
                << length << " rows, " << count << " drafts, a mask of " << columns << " keys";
          }
        }
      }
    }
  });
}

TEST(Cache, AnAcceptedPathIsAsIfItAloneWasAppended) {
  const DraftTree tree({-1, 0, 0, 2, 2, 3});
  const std::vector<int64_t> accepted = tree.path_to(5);
  ASSERT_EQ(accepted, (std::vector<int64_t>{0, 2, 3, 5}));
  for_each_cache(120, [&](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const int64_t length : {1, 13, 16, 63}) {
      const std::vector<int64_t> rows = counting_from(0, length);
      const Part drafts{0, counting_from(200, tree.size()), tree.positions(length)};
      Form form;
      form.mask = tree.mask();
      std::vector<int64_t> path;
      for (const int64_t draft : accepted) path.push_back(200 + draft);

      const Cache plain = make_cache(layer, contiguous);
      forward_one(layer, plain.get(), {0, rows});
      forward_one(layer, plain.get(), {0, path});
      const std::vector<int64_t> more = counting_from(300, 20);
      const RowBits expected = row_bits(forward_one(layer, plain.get(), {0, more}));

      for (const heed_cache_options& options : each_layout(contiguous, 1)) {
        const Cache cache = make_cache(layer, options);
        forward_one(layer, cache.get(), {0, rows});
        forward_one(layer, cache.get(), drafts, form);
        property::check(heed_cache_accept(cache.get(), 0, length, accepted.data(), 4));
        EXPECT_EQ(heed_cache_length(cache.get(), 0), length + 4);
        EXPECT_TRUE(same_rows(row_bits(forward_one(layer, cache.get(), {0, more})), expected))
            << name_of_layout(options) << ", " << length << " rows";
        EXPECT_TRUE(same_kept_rows(layer, cache.get(), 0, plain.get(), 0, length + 24));
      }
    }
  });
}

// Without renumbering a gap is left: as if the rows had been appended at these positions.
TEST(Cache, DiscardedRowsLeaveAGap) {
  for_each_cache(150, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const auto& [first, count] : {std::pair{0, 1}, {3, 16}, {16, 16}, {10, 40}, {60, 10}}) {
      std::vector<int64_t> rows = counting_from(0, 70);
      rows.erase(rows.begin() + first, rows.begin() + first + count);
      const std::vector<int64_t> more = counting_from(70, 20);

      const Cache plain = make_cache(layer, contiguous);
      forward_one(layer, plain.get(), {0, rows, rows});
      // They continue after the position of the last row.
      const int64_t next = rows.back() + 1;
      const RowBits expected = row_bits(forward_one(layer, plain.get(), {0, more, counting_from(next, 20)}));

      for (const heed_cache_options& options : each_layout(contiguous, 1)) {
        const Cache cache = make_cache(layer, options);
        forward_one(layer, cache.get(), {0, counting_from(0, 70)});
        property::check(heed_cache_discard(cache.get(), 0, first, count, 0));
        EXPECT_TRUE(same_rows(row_bits(forward_one(layer, cache.get(), {0, more})), expected))
            << name_of_layout(options) << ", without rows " << first << " to " << first + count - 1;
        EXPECT_TRUE(same_kept_rows(layer, cache.get(), 0, plain.get(), 0, 90 - count));
      }
    }
  });
}

// With renumbering the others close up. Exactly, if there is nothing to rotate.
TEST(Cache, RenumberedRowsCloseUp) {
  for_each_cache(150, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    if (layer.spec().rope && contiguous.unrotated_keys == 0) return;
    for (const auto& [first, count] : {std::pair{0, 1}, {3, 16}, {16, 16}, {10, 40}, {60, 10}}) {
      std::vector<int64_t> rows = counting_from(0, 70);
      rows.erase(rows.begin() + first, rows.begin() + first + count);
      const std::vector<int64_t> more = counting_from(70, 20);

      const Cache plain = make_cache(layer, contiguous);
      forward_one(layer, plain.get(), {0, rows});
      const RowBits expected = row_bits(forward_one(layer, plain.get(), {0, more}));

      for (const heed_cache_options& options : each_layout(contiguous, 1)) {
        const Cache cache = make_cache(layer, options);
        forward_one(layer, cache.get(), {0, counting_from(0, 70)});
        property::check(heed_cache_discard(cache.get(), 0, first, count, 1));
        EXPECT_TRUE(same_rows(row_bits(forward_one(layer, cache.get(), {0, more})), expected))
            << name_of_layout(options) << ", without rows " << first << " to " << first + count - 1;
        EXPECT_TRUE(same_kept_rows(layer, cache.get(), 0, plain.get(), 0, 90 - count));
      }
    }
  });
}

// Positions that are given and those that continue have the same bits where they are the same.
TEST(Cache, GivenPositionsThatContinueChangeNothing) {
  for_each_cache(100, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const Cache given = make_cache(layer, contiguous);
    const Cache default_positions = make_cache(layer, contiguous);
    int64_t length = 0;
    for (const int64_t count : {20, 1, 17}) {
      const std::vector<int64_t> rows = counting_from(length, count);
      EXPECT_TRUE(same_rows(row_bits(forward_one(layer, given.get(), {0, rows, rows})),
                            row_bits(forward_one(layer, default_positions.get(), {0, rows}))));
      length += count;
    }
    EXPECT_EQ(saved(given.get(), 0), saved(default_positions.get(), 0));
  });
}

// A causal mask goes by the index of the row, whichever alignment it has.
TEST(Cache, AlignmentsOfACausalMaskAreOne) {
  LayerSpec spec = sample_layers()[1].spec;
  const CachedLayer bottom_right(spec);
  spec.options.causal = HEED_CAUSAL_TOP_LEFT;
  const CachedLayer top_left(spec);
  const std::vector<int64_t> sizes = {20, 1, 17};
  const std::vector<int64_t> rows = counting_from(0, sum_of(sizes));
  const Cache a = make_cache(bottom_right, bottom_right.contiguous(50));
  const Cache b = make_cache(top_left, top_left.contiguous(50));
  EXPECT_TRUE(same_rows(append_in_pieces(bottom_right, a.get(), 0, rows, sizes),
                        append_in_pieces(top_left, b.get(), 0, rows, sizes)));
}

// ---- filling and reading --------------------------------------------------------------------------------------------

TEST(Cache, FillingKeepsTheRowsOfAForward) {
  for_each_cache(150, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const heed_cache_options& options : each_layout(contiguous, 2)) {
      for (const bool is_packed : {false, true}) {
        const Cache filled = make_cache(layer, options);
        const Cache attended = make_cache(layer, options);
        Form form;
        form.is_packed = is_packed;
        const std::vector<Part> parts = {{1, counting_from(0, 65)}, {0, counting_from(100, 17)}};
        const std::vector<Part> later = {{0, counting_from(200, 1)}, {1, counting_from(300, 40)}};
        for (const std::vector<Part>& call : {parts, later}) {
          fill_cache(layer, filled.get(), call, form);
          forward(layer, attended.get(), call, form);
        }
        EXPECT_TRUE(same_state(state_of(filled.get(), 2), state_of(attended.get(), 2)))
            << name_of_layout(options) << (is_packed ? ", packed" : ", padded");
      }
    }
  });
}

// Rows that only read are the same in any batch, also where several elements read one sequence.
TEST(Cache, RowsThatReadAreTheSameInAnyBatch) {
  for_each_cache(300, [](const CachedLayer& causal, const heed_cache_options& contiguous) {
    LayerSpec spec = causal.spec();
    spec.options.causal = HEED_CAUSAL_NONE;
    const CachedLayer layer(spec);
    const auto part = [](int64_t sequence, int64_t number, int64_t count) {
      return Part{sequence, counting_from(number, count), counting_from(260, count)};
    };
    const std::vector<Part> parts = {part(1, 500, 3), part(0, 600, 1), part(1, 700, 40), part(2, 800, 2)};
    const std::vector<Part> memory = {{0, counting_from(0, 257)}, {1, counting_from(300, 16)}};
    std::vector<RowBits> expected;
    for (const heed_cache_options& options : each_layout(contiguous, 3)) {
      const Cache cache = make_cache(layer, options);
      fill_cache(layer, cache.get(), memory);
      const CacheState before = state_of(cache.get(), 3);
      Form form;
      form.use = HEED_CACHE_READ;
      if (expected.empty()) {
        for (const Part& one : parts) expected.push_back(row_bits(forward_one(layer, cache.get(), one, form)));
      }
      for (const bool is_packed : {false, true}) {
        form.is_packed = is_packed;
        const std::vector<property::Results> results = forward(layer, cache.get(), parts, form);
        for (size_t b = 0; b < parts.size(); ++b) {
          EXPECT_TRUE(same_rows(row_bits(results[b]), expected[b]))
              << name_of_layout(options) << (is_packed ? ", packed" : ", padded") << ", part " << b;
        }
      }
      EXPECT_TRUE(same_state(state_of(cache.get(), 3), before)) << "reading changed the cache";
    }
  });
}

}  // namespace
}  // namespace heed::cache_test
