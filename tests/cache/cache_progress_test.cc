// SPDX-License-Identifier: Apache-2.0
// A call that its report stops leaves the caches as they were: what it appended, pages that it took and what it has overwritten
// in a ring. The same call afterwards gives the bits of one that was never stopped.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "cache/support/step.h"
#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"
#include "capi/support/reports.h"

namespace heed::cache_test {
namespace {

using capi_test::is_refused;
using capi_test::Refusal;
using capi_test::Reports;

constexpr int64_t kNumSequences = 4;

const Refusal kCancelled = {HEED_ERROR_CANCELLED, {"inputs->progress->report returned -7 after "}};

// Two caches with the same contents: a call on the second one is stopped at each of its reports and then made.
class Pair {
 public:
  Pair(const CachedLayer& layer, const heed_cache_options& options)
      : layer_(layer), whole_(make_cache(layer, options)), stopped_(make_cache(layer, options)) {}

  void append(const std::vector<Part>& parts) const {
    for (heed_cache* cache : {whole_.get(), stopped_.get()}) forward(layer_, cache, parts);
  }
  void share(int64_t from, int64_t length, int64_t to) const {
    for (heed_cache* cache : {whole_.get(), stopped_.get()}) property::check(heed_cache_fork(cache, from, length, to));
  }

  void expect_same_after_stops(const std::vector<Part>& parts, bool fills = false) const {
    Reports whole;
    Step expected(layer_, whole_.get(), parts);
    expected.inputs.progress = &whole.progress;
    ASSERT_EQ(fills ? expected.fill() : expected.run(), HEED_OK) << heed_last_error();
    EXPECT_TRUE(whole.are_whole());
    const CacheState before = state_of(stopped_.get(), kNumSequences);
    for (size_t k = 0; k < whole.done.size(); ++k) {
      Reports reports(k);
      reports.during = [this] { EXPECT_EQ(heed_cache_rewind(stopped_.get(), 0, 0), HEED_ERROR_BUSY); };
      Step step(layer_, stopped_.get(), parts);
      step.inputs.progress = &reports.progress;
      const heed_status status = fills ? step.fill() : step.run();
      if (status == HEED_OK) {
        // On several threads the calling thread need not have had as many tasks as before.
        ASSERT_LT(reports.done.size(), k + 1);
        ADD_FAILURE() << "a call has fewer reports than another one";
        return;
      }
      ASSERT_TRUE(is_refused(status, kCancelled));
      ASSERT_TRUE(same_state(state_of(stopped_.get(), kNumSequences), before)) << "after report " << k;
    }
    Step again(layer_, stopped_.get(), parts);
    ASSERT_EQ(fills ? again.fill() : again.run(), HEED_OK) << heed_last_error();
    if (!fills) {
      for (size_t b = 0; b < parts.size(); ++b)
        EXPECT_TRUE(same_rows(row_bits(again.results()[b]), row_bits(expected.results()[b])));
    }
    EXPECT_TRUE(same_state(state_of(stopped_.get(), kNumSequences), state_of(whole_.get(), kNumSequences)));
  }

 private:
  const CachedLayer& layer_;
  Cache whole_;
  Cache stopped_;
};

LayerSpec usual_layer() {
  LayerSpec spec = grouped_heads(2, 2, 4, 6);
  spec.rope = rope_of(HEED_ROPE_HALF);
  return spec;
}

TEST(CacheProgress, StoppedCallsLeaveEachLayoutAsItWas) {
  for (const heed_dtype dtype : kCacheDTypes) {
    const CachedLayer layer(usual_layer(), dtype == HEED_F32 ? 16 : 1);
    for (const heed_cache_options& options : each_layout(layer.contiguous(400, dtype), kNumSequences)) {
      for (const int64_t held : {0, 37, 250}) {
        for (const int64_t added : {1, 30, 100}) {
          SCOPED_TRACE(std::string(name_of_layout(options)) + ": " + std::to_string(added) + " rows after " +
                       std::to_string(held));
          const Pair pair(layer, options);
          if (held > 0) pair.append({{0, counting_from(0, held)}, {2, counting_from(500, 20)}});
          pair.expect_same_after_stops({{2, counting_from(held > 0 ? 520 : 500, 3)}, {0, counting_from(held, added)}});
          pair.expect_same_after_stops({{1, counting_from(0, 9)}}, true);
        }
      }
    }
  }
}

// More rows than the ring has, and more than are stored at a time.
TEST(CacheProgress, StoppedCallsLeaveWhatARingKeeps) {
  for (const heed_dtype dtype : kCacheDTypes) {
    const CachedLayer layer(usual_layer());
    for (const int64_t num_sinks : {0, 4}) {
      for (const int64_t capacity : {16, 50}) {
        for (const int64_t held : {40, 130, 1000}) {
          for (const int64_t added : {1, 17, 64, 65, 300}) {
            SCOPED_TRACE(std::to_string(capacity) + ": " + std::to_string(added) + " rows after " +
                         std::to_string(held));
            const Pair pair(layer,
                            with_sequences(as_ring(layer.contiguous(capacity, dtype), num_sinks), kNumSequences));
            pair.append({{0, counting_from(0, held)}, {3, counting_from(7, 5)}});
            pair.expect_same_after_stops({{0, counting_from(held, added)}});
          }
        }
      }
    }
  }
}

// Within an attention, between blocks of rows that are stored and attended to.
TEST(CacheProgress, StoppedAttentionLeavesWhatARingKeeps) {
  LayerSpec spec = grouped_heads(4, 2, 64, 64);
  spec.rope = rope_of(HEED_ROPE_HALF);
  const CachedLayer layer(spec, 1);
  const Pair pair(layer, with_sequences(as_ring(layer.contiguous(512), 4), kNumSequences));
  pair.append({{0, counting_from(0, 700)}});
  Reports reports;
  const Cache cache = make_cache(layer, layer.contiguous(800));
  Step long_step(layer, cache.get(), {{0, counting_from(0, 800)}});
  long_step.inputs.progress = &reports.progress;
  ASSERT_EQ(long_step.run(), HEED_OK) << heed_last_error();
  pair.expect_same_after_stops({{0, counting_from(700, 800)}});
}

// Pages are shared until a sequence writes to them: a call that is stopped gives back the copies that it made.
TEST(CacheProgress, StoppedCallsGiveBackCopiesOfSharedPages) {
  const CachedLayer layer(usual_layer());
  for (const heed_cache_options& options : each_layout(layer.contiguous(120), kNumSequences)) {
    for (const int64_t length : {20, 16, 7}) {
      SCOPED_TRACE(std::string(name_of_layout(options)) + " " + std::to_string(length));
      const Pair pair(layer, options);
      pair.append({{0, counting_from(0, 20)}});
      pair.share(0, length, 1);
      pair.share(0, length, 2);
      pair.expect_same_after_stops({{1, counting_from(50, 3)}});
      pair.share(0, length, 1);
      pair.expect_same_after_stops({{1, counting_from(60, 3)}, {2, counting_from(70, 20)}});
    }
  }
}

// Sequences of one call share a page in which one of them is longer: it keeps the copy, since the other has overwritten it.
TEST(CacheProgress, StoppedCallsKeepRowsOfLongerSequences) {
  const CachedLayer layer(usual_layer());
  for (const heed_cache_options& options : each_layout(layer.contiguous(120), kNumSequences)) {
    for (const bool longer_first : {false, true}) {
      SCOPED_TRACE(name_of_layout(options));
      const Cache cache = make_cache(layer, options);
      forward_one(layer, cache.get(), {0, counting_from(0, 12)});
      property::check(heed_cache_fork(cache.get(), 0, 9, 1));
      const std::vector<uint8_t> longer = saved(cache.get(), 0);
      const std::vector<uint8_t> shorter = saved(cache.get(), 1);
      const Part to_longer = {0, counting_from(12, 3)};
      const Part to_shorter = {1, counting_from(40, 4)};
      for (size_t k = 1; k < 4; ++k) {
        Reports reports(k);
        Step step(layer, cache.get(),
                  longer_first ? std::vector<Part>{to_longer, to_shorter} : std::vector<Part>{to_shorter, to_longer});
        step.inputs.progress = &reports.progress;
        ASSERT_EQ(step.run(), HEED_ERROR_CANCELLED);
        EXPECT_EQ(saved(cache.get(), 0), longer);
        EXPECT_EQ(saved(cache.get(), 1), shorter);
      }
      const RowBits expected = row_bits(replay(layer, options, counting_from(0, 15)));
      EXPECT_TRUE(same_rows(row_bits(forward_one(layer, cache.get(), to_longer)), last_rows(expected, 3)));
    }
  }
}

// All layers of a model append in one call.
TEST(CacheProgress, ModelsWithCachesAreStoppedAtEachReport) {
  using namespace capi_test;
  for (const char* family : {"llama", "gemma3", "gpt2"}) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
    check(heed_layer_cache_options(call.layer.get(), &options));
    options.max_sequences = 2;
    options.capacity = 40;
    std::vector<uint8_t> expected;
    for (const int32_t layout : {HEED_CACHE_CONTIGUOUS, HEED_CACHE_PAGED}) {
      options.layout = layout;
      options.page_size = layout == HEED_CACHE_PAGED ? 16 : 0;
      options.num_pages = layout == HEED_CACHE_PAGED ? 6 : 0;
      const cache_test::Cache cache = cache_test::make_cache(call.context.get(), options);
      heed_cache_inputs given = HEED_CACHE_INPUTS_INIT;
      given.cache = cache.get();
      call.inputs.cache = &given;
      call.inputs.progress = nullptr;
      call.run();
      const CacheState before = state_of(cache.get(), 2);
      size_t k = 0;
      for (;; ++k) {
        Reports reports(k);
        call.inputs.progress = &reports.progress;
        const heed_status status = call.forward();
        if (status == HEED_OK) break;
        ASSERT_TRUE(is_refused(status, kCancelled));
        ASSERT_TRUE(same_state(state_of(cache.get(), 2), before));
      }
      EXPECT_GT(k, 10u);
      const std::vector<uint8_t> result = read_bytes(call.outputs.output);
      if (expected.empty()) {
        const cache_test::Cache another = cache_test::make_cache(call.context.get(), options);
        given.cache = another.get();
        call.inputs.progress = nullptr;
        call.run();
        expected = call.run();
      }
      EXPECT_EQ(result, expected);
    }
  }
}

}  // namespace
}  // namespace heed::cache_test
