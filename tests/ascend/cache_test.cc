// SPDX-License-Identifier: Apache-2.0
// Caches in the NPU's memory. ascend.cache.reference checks the numbers of random calls; here: what a cache holds after each
// function, bit by bit, as a cache on the CPU that began with the same rows; which operations calls become; and what runs
// on the CPU.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "ascend/support/device_cache.h"
#include "ascend/support/explained.h"
#include "cache/support/caches.h"
#include "cache/support/step.h"
#include "capi/support/refusal.h"
#include "property/support/random.h"

namespace heed::ascend_test {
namespace {

using cache_test::Cache;
using cache_test::CachedLayer;
using cache_test::counting_from;
using cache_test::Form;
using cache_test::LayerSpec;
using cache_test::make_cache;
using cache_test::Part;
using cache_test::saved;
using cache_test::Step;
using capi_test::is_refused;

// Appends rows to both layers of the cache.
void append(const CachedLayer& layer, heed_cache* cache, const Part& part) {
  for (int64_t number = 0; number < 2; ++number)
    cache_test::forward_one(layer, cache, part, without_log_sum_exp(number));
}

using CacheOnNpu = DeviceCache;

// ---- what a cache holds ---------------------------------------------------------------------------------------------

// A cache on the NPU and one on the CPU with the same rows, to which the same functions are applied.
class TwoCaches {
 public:
  explicit TwoCaches(int64_t page_size)
      : on_npu_(make_npu_context(), spec_of()),
        on_cpu_(capi_test::make_context(), spec_of()),
        npu_(make_cache(on_npu_, paged(on_npu_, page_size, num_pages(page_size)))),
        cpu_(make_cache(on_cpu_, paged(on_cpu_, page_size, num_pages(page_size)))) {
    // Now both know the rotary positions of what they hold.
    for (const auto& [layer, cache] : {std::pair(&on_npu_, npu_.get()), std::pair(&on_cpu_, cpu_.get())})
      append(*layer, cache, {0, {0}});
    append_to_both(0, 80);
    append_to_both(1, 21);
  }

  // Appends rows on the NPU, and loads them on the CPU, since its projections round otherwise.
  void append_to_both(int64_t sequence, int64_t count) {
    append(on_npu_, npu_.get(), {sequence, counting_from(next_row_, count)});
    next_row_ += count;
    // Both load, so that they have pages of their own alike.
    const std::vector<uint8_t> bytes = saved(npu_.get(), sequence);
    cache_test::load_saved(npu_.get(), sequence, bytes);
    cache_test::load_saved(cpu_.get(), sequence, bytes);
  }

  template <typename Function>
  heed_status apply(const Function& function) {
    const heed_status status = function(cpu_.get());
    const std::string sentence = status == HEED_OK ? "" : heed_last_error();
    EXPECT_EQ(function(npu_.get()), status);
    if (status != HEED_OK) {
      EXPECT_EQ(std::string(heed_last_error()), sentence);
    }
    return status;
  }

  void expect_the_same(const char* function) const {
    EXPECT_TRUE(cache_test::same_state(cache_test::state_of(npu_.get(), kNumSequences),
                                       cache_test::state_of(cpu_.get(), kNumSequences)))
        << function;
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence) {
      const int64_t count = heed_cache_length(cpu_.get(), sequence);
      for (int64_t layer = 0; layer < 2; ++layer) {
        EXPECT_EQ(cache_test::kept_rows(on_npu_, npu_.get(), layer, sequence, count),
                  cache_test::kept_rows(on_cpu_, cpu_.get(), layer, sequence, count))
            << function << ", sequence " << sequence;
      }
    }
  }

  int64_t length(int64_t sequence) const { return heed_cache_length(cpu_.get(), sequence); }
  // As many as all sequences need.
  static int64_t num_pages(int64_t page_size) { return kNumSequences * ((300 + page_size - 1) / page_size); }
  int64_t free_pages() const { return heed_cache_free_pages(npu_.get()); }

 private:
  CachedLayer on_npu_;
  CachedLayer on_cpu_;
  Cache npu_;
  Cache cpu_;
  int64_t next_row_ = 1;
};

TEST_F(CacheOnNpu, EachFunctionLeavesWhatItLeavesOnTheCpu) {
  for (const int64_t page_size : {16, 128}) {
    TwoCaches caches(page_size);
    caches.expect_the_same("append");
    property::Random random(static_cast<uint64_t>(page_size));
    for (int i = 0; i < 60; ++i) {
      const int64_t a = random.below(kNumSequences);
      const int64_t b = random.below(kNumSequences);
      const int64_t row = random.below(caches.length(a) + 1);
      switch (random.below(7)) {
        case 0:
          if (caches.length(a) < 100) caches.append_to_both(a, 1 + random.below(30));
          caches.expect_the_same("append");
          break;
        case 1:
          caches.apply([&](heed_cache* cache) { return heed_cache_rewind(cache, a, row); });
          caches.expect_the_same("rewind");
          break;
        case 2:
          caches.apply([&](heed_cache* cache) { return heed_cache_fork(cache, a, row, b); });
          caches.expect_the_same("fork");
          break;
        case 3: {
          const int64_t sources[] = {a, b, 0};
          caches.apply([&](heed_cache* cache) { return heed_cache_reorder(cache, sources, 3); });
          caches.expect_the_same("reorder");
          break;
        }
        case 4: {
          std::vector<int64_t> kept;
          for (int64_t draft = 0; draft < caches.length(a) - row; ++draft) {
            if (random.chance(0.4)) kept.push_back(draft);
          }
          caches.apply([&](heed_cache* cache) {
            return heed_cache_accept(cache, a, row, kept.data(), static_cast<int64_t>(kept.size()));
          });
          caches.expect_the_same("accept");
          break;
        }
        case 5: {
          const int64_t count = random.below(caches.length(a) - row + 1);
          const int32_t renumber = random.chance(0.5) ? 1 : 0;
          caches.apply([&](heed_cache* cache) { return heed_cache_discard(cache, a, row, count, renumber); });
          caches.expect_the_same("discard");
          break;
        }
        default: {
          const int64_t length = random.below(300);
          caches.apply([&](heed_cache* cache) { return heed_cache_reserve(cache, a, length); });
          break;
        }
      }
    }
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence)
      caches.apply([&](heed_cache* cache) { return heed_cache_rewind(cache, sequence, 0); });
    EXPECT_EQ(caches.free_pages(), TwoCaches::num_pages(page_size));
  }
}

// A sequence that shares its last page gets a copy of it before it writes there.
TEST_F(CacheOnNpu, AForkThatWritesLeavesTheOtherAsItWas) {
  const CachedLayer layer(make_npu_context(), spec_of());
  const Cache cache = make_cache(layer, paged(layer, 16, 12));
  append(layer, cache.get(), {0, counting_from(0, 20)});
  const std::vector<uint8_t> before = saved(cache.get(), 0);
  property::check(heed_cache_fork(cache.get(), 0, 20, 1));
  append(layer, cache.get(), {1, counting_from(100, 5)});
  EXPECT_EQ(saved(cache.get(), 0), before);
  append(layer, cache.get(), {0, counting_from(20, 5)});
  const Cache alone = make_cache(layer, paged(layer, 16, 12));
  append(layer, alone.get(), {0, counting_from(0, 20)});
  append(layer, alone.get(), {0, counting_from(20, 5)});
  EXPECT_EQ(saved(cache.get(), 0), saved(alone.get(), 0));
}

// A cache without a page size has pages of 128 rows, and a contiguous one has as many as its sequences need.
TEST_F(CacheOnNpu, PagesHave128Rows) {
  const CachedLayer layer(make_npu_context(), spec_of());
  const Cache cache = make_cache(layer, paged(layer, 0, 6));
  property::check(heed_cache_reserve(cache.get(), 0, 128));
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 5);
  property::check(heed_cache_reserve(cache.get(), 0, 129));
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 4);
  const Cache contiguous = make_cache(layer, layer.contiguous(129, HEED_F16));
  EXPECT_EQ(heed_cache_free_pages(contiguous.get()), 2);
  property::check(heed_cache_reserve(contiguous.get(), 0, 129));
  EXPECT_TRUE(is_refused(heed_cache_reserve(contiguous.get(), 0, 130), {HEED_ERROR_CACHE_FULL, {"130", "129"}}));
}

// ---- operations -----------------------------------------------------------------------------------------------------

// The number of operations of each kind during a call.
struct Counts {
  uint64_t stored = ascend_sim_count("execute:ReshapeAndCacheOperation");
  uint64_t paged = ascend_sim_count("execute:PagedAttentionOperation");
  uint64_t fused = ascend_sim_count("execute:SelfAttentionOperation");
  uint64_t gathered = ascend_sim_count("execute:GatherOperation");

  Counts since(const Counts& before) const {
    return {stored - before.stored, paged - before.paged, fused - before.fused, gathered - before.gathered};
  }
  bool operator==(const Counts&) const = default;
};

Counts counts_of(const std::function<void()>& call) {
  const Counts before;
  call();
  return Counts().since(before);
}

std::ostream& operator<<(std::ostream& out, const Counts& counts) {
  return out << counts.stored << " stored, " << counts.paged << " paged, " << counts.fused << " fused, "
             << counts.gathered << " gathered";
}

TEST_F(CacheOnNpu, StepsArePagedAttentionAndPromptsSelfAttention) {
  LayerSpec spec = spec_of();
  spec.rope.reset();
  const CachedLayer layer(make_npu_context(), spec);
  const Cache cache = make_cache(layer, paged(layer, 16, 60));
  const auto forward = [&](const std::vector<Part>& parts, bool is_packed = false) {
    Form form = without_log_sum_exp();
    form.is_packed = is_packed;
    return counts_of([&] { cache_test::forward(layer, cache.get(), parts, form); });
  };
  // A prompt's keys are those of the call.
  EXPECT_EQ(forward({{0, counting_from(0, 40)}}), (Counts{1, 0, 1, 0}));
  EXPECT_EQ(forward({{1, counting_from(0, 3)}}), (Counts{1, 1, 0, 0}));
  // One operation for the steps of all sequences.
  EXPECT_EQ(forward({{0, {40}}, {1, {3}}, {2, {0}}}), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(forward({{0, {41, 42}}, {1, {4}}}, true), (Counts{1, 1, 0, 0}));
  // A chunk after other rows attends to a copy of its pages, of keys and of values.
  EXPECT_EQ(forward({{0, counting_from(43, 20)}}), (Counts{1, 0, 1, 2}));
  // A chunk of one sequence beside steps of others.
  EXPECT_EQ(forward({{0, counting_from(63, 20)}, {1, {5}}}, true), (Counts{1, 1, 1, 2}));
}

TEST_F(CacheOnNpu, ReadingStoresNothingAndFillingAttendsToNothing) {
  LayerSpec spec = spec_of();
  spec.rope.reset();
  spec.options.causal = HEED_CAUSAL_NONE;
  const CachedLayer layer(make_npu_context(), spec);
  const Cache cache = make_cache(layer, paged(layer, 16, 60));
  const std::vector<Part> parts = {{0, counting_from(0, 30)}, {1, counting_from(0, 7)}};
  EXPECT_EQ(counts_of([&] { cache_test::fill_cache(layer, cache.get(), parts, without_log_sum_exp()); }),
            (Counts{1, 0, 0, 0}));
  Form reading = without_log_sum_exp();
  reading.use = HEED_CACHE_READ;
  EXPECT_EQ(counts_of([&] {
              cache_test::forward(layer, cache.get(), {{0, {1, 2}}, {1, {3, 4}}}, reading);
            }),
            (Counts{0, 1, 0, 0}));
}

// More tokens than one operation takes.
TEST_F(CacheOnNpu, ManySequencesAreSeveralOperations) {
  LayerSpec spec = spec_of();
  spec.rope.reset();
  const CachedLayer layer(make_npu_context(), spec);
  heed_cache_options options = cache_test::as_paged(layer.contiguous(16, HEED_F16), 16, 385);
  options.max_sequences = 385;
  const Cache cache = make_cache(layer, options);
  std::vector<Part> parts;
  for (int64_t sequence = 0; sequence < 385; ++sequence) parts.push_back({sequence, {sequence}});
  std::vector<property::Results> results;
  EXPECT_EQ(counts_of([&] { results = cache_test::forward(layer, cache.get(), parts, without_log_sum_exp()); }),
            (Counts{1, 2, 0, 0}));
  // The last one is as if it was alone.
  const Cache alone = make_cache(layer, options);
  const property::Results last = cache_test::forward_one(layer, alone.get(), {0, {384}}, without_log_sum_exp());
  EXPECT_EQ(results.back().output->contents.values, last.output->contents.values);
}

TEST_F(CacheOnNpu, ExplainNamesTheOperations) {
  const CachedLayer layer(make_npu_context(), spec_of());
  const Cache cache = make_cache(layer, paged(layer, 16, 60));
  const Step step(layer, cache.get(), {{0, counting_from(0, 4)}}, without_log_sum_exp());
  const std::string text = explain(layer.layer(), step.inputs, step.outputs).dump();
  EXPECT_NE(text.find("ATB ReshapeAndCache, PagedAttention or SelfAttention"), std::string::npos) << text;
}

// ---- what runs on the CPU -------------------------------------------------------------------------------------------

struct Gap {
  const char* reason;
  std::function<void(LayerSpec&)> change_layer = [](LayerSpec&) {};
  std::function<void(heed_cache_options&)> change_cache = [](heed_cache_options&) {};
  bool with_log_sum_exp = false;
};

std::vector<Gap> gaps() {
  constexpr const char* kInHostMemory =
      "the cache is in host memory, expected one in F16 or BF16, contiguous or in pages";
  std::vector<Gap> all(8);
  all[0] = {kInHostMemory, [](LayerSpec&) {}, [](heed_cache_options& cache) { cache.dtype = HEED_I8; }};
  all[1] = {kInHostMemory, [](LayerSpec&) {}, [](heed_cache_options& cache) { cache.dtype = HEED_F32; }};
  all[2] = {kInHostMemory, [](LayerSpec&) {}, [](heed_cache_options& cache) { cache.unrotated_keys = 1; }};
  all[3] = {kInHostMemory, [](LayerSpec&) {},
            [](heed_cache_options& cache) { cache = cache_test::as_paged(cache, 144, 6); }};
  all[4] = {"the cache has another dtype than the device computes in", [](LayerSpec&) {},
            [](heed_cache_options& cache) { cache.dtype = HEED_BF16; }};
  all[5] = {"ATB's attention over a cache has no sinks", [](LayerSpec& spec) { spec.options.sinks = 1; }};
  all[6] = {"ATB's attention over a cache has no soft cap", [](LayerSpec& spec) { spec.options.soft_cap = 2.0F; }};
  all[7] = {"ATB's attention over a cache has no log-sum-exp"};
  all[7].with_log_sum_exp = true;
  return all;
}

// The CPU attends to a copy of the cache, and the rows that it appends get there.
TEST_F(CacheOnNpu, WhatAtbLacksRunsOnTheCpuAndIsNamed) {
  for (const Gap& gap : gaps()) {
    LayerSpec spec = spec_of();
    gap.change_layer(spec);
    const CachedLayer strict(make_npu_context(), spec);
    const CachedLayer lenient(make_lenient_context(), spec);
    const CachedLayer cpu(capi_test::make_context(), spec);
    heed_cache_options options = paged(strict, 16, 60);
    gap.change_cache(options);
    const std::vector<Part> parts = {{0, counting_from(0, 20)}, {2, counting_from(0, 33)}};
    Form form = without_log_sum_exp();
    form.with_log_sum_exp = gap.with_log_sum_exp;
    const Cache refused = make_cache(strict, options);
    const Step step(strict, refused.get(), parts, form);
    EXPECT_TRUE(is_refused(step.run(), {HEED_ERROR_NOT_FASTEST, {"attention", gap.reason}})) << gap.reason;
    EXPECT_EQ(heed_cache_length(refused.get(), 0), 0);
    const Cache cache = make_cache(lenient, options);
    const Cache on_cpu = make_cache(cpu, options);
    std::vector<property::Results> results;
    std::vector<property::Results> expected;
    for (int64_t first : {0, 20, 40}) {
      const std::vector<Part> next = {{0, counting_from(first, 20)}, {2, counting_from(first, 20 - first / 3)}};
      results = cache_test::forward(lenient, cache.get(), next, form);
      expected = cache_test::forward(cpu, on_cpu.get(), next, form);
    }
    for (size_t part = 0; part < results.size(); ++part) {
      const std::vector<double>& numbers = results[part].output->contents.values;
      const std::vector<double>& others = expected[part].output->contents.values;
      for (size_t i = 0; i < numbers.size(); ++i) ASSERT_NEAR(numbers[i], others[i], 0.05) << gap.reason << ", " << i;
    }
    // The CPU takes over from the cache as it is, and leaves it to the device.
    const int64_t count = heed_cache_num_rows(cache.get(), 0, 0);
    EXPECT_EQ(count, 60);
    EXPECT_FALSE(cache_test::kept_rows(lenient, cache.get(), 0, 0, count).empty());
  }
}

}  // namespace
}  // namespace heed::ascend_test
