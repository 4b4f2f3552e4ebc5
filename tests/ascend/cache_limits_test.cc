// SPDX-License-Identifier: Apache-2.0
// Calls of caches in the NPU's memory at the limits of an operation of ATB, and next to them: as on the CPU, or refused by a
// strict context.
#include <cstdint>
#include <utility>
#include <vector>

#include "ascend/support/device_cache.h"
#include "capi/support/refusal.h"

namespace heed::ascend_test {
namespace {

using cache_test::Cache;
using cache_test::CachedLayer;
using cache_test::counting_from;
using cache_test::Form;
using cache_test::LayerSpec;
using cache_test::make_cache;
using cache_test::Part;
using cache_test::Step;
using capi_test::is_refused;

constexpr const char* kInHostMemory = "the cache is in host memory";

std::vector<float> outputs_of(const std::vector<property::Results>& results) {
  std::vector<float> numbers;
  for (const property::Results& part : results) {
    for (const double number : part.output->contents.values) numbers.push_back(static_cast<float>(number));
  }
  return numbers;
}

LayerSpec without_positions() {
  LayerSpec spec = spec_of();
  spec.rope.reset();
  return spec;
}

LayerSpec grouped(int64_t num_kv_heads, int64_t group, int64_t head_size) {
  LayerSpec spec = cache_test::grouped_heads(num_kv_heads, group, head_size, head_size);
  spec.dtype = spec.parameter_dtype = HEED_F16;
  return spec;
}

// A layer on the NPU and on the CPU, with a cache each.
class OnBoth {
 public:
  // Roundings to F16 of a few units of 2^-11 each, as in SequenceLayer: results of these layers differ by up to 8 units.
  static constexpr double kTolerance = 0.02;

  OnBoth(Context npu, const LayerSpec& spec, const heed_cache_options& options)
      : on_npu_(std::move(npu), spec),
        on_cpu_(capi_test::make_context(), spec),
        npu_(make_cache(on_npu_, options)),
        cpu_(make_cache(on_cpu_, options)) {}

  heed_cache* npu_cache() const { return npu_.get(); }

  void fill(const std::vector<Part>& parts) const {
    cache_test::fill_cache(on_npu_, npu_.get(), parts, without_log_sum_exp());
    cache_test::fill_cache(on_cpu_, cpu_.get(), parts, without_log_sum_exp());
  }

  // The largest difference between the results of a call.
  double difference_of(const std::vector<Part>& parts, int32_t use = HEED_CACHE_APPEND) const {
    Form form = without_log_sum_exp();
    form.use = use;
    return difference(outputs_of(cache_test::forward(on_npu_, npu_.get(), parts, form)),
                      outputs_of(cache_test::forward(on_cpu_, cpu_.get(), parts, form)));
  }

 private:
  CachedLayer on_npu_;
  CachedLayer on_cpu_;
  Cache npu_;
  Cache cpu_;
};

heed_cache_options options_for(const LayerSpec& spec, int64_t capacity, int64_t max_sequences = 1) {
  return cache_test::with_sequences(CachedLayer(spec).contiguous(capacity, HEED_F16), max_sequences);
}

class CacheLimits : public DeviceCache {
 protected:
  // Expects that a strict context refuses a step with this cache.
  static void expect_refused(const LayerSpec& spec, const heed_cache_options& options, const char* reason) {
    const CachedLayer layer(make_npu_context(), spec);
    const Cache cache = make_cache(layer, options);
    const Step step(layer, cache.get(), {{0, {0}}}, without_log_sum_exp());
    EXPECT_TRUE(is_refused(step.run(), {HEED_ERROR_NOT_FASTEST, {"attention", reason}}));
  }
};

// A mask of 6,000 queries and 9,000 keys takes more than 64 MiB.
TEST_F(CacheLimits, ALongChunkIsComputedInParts) {
  for (const int64_t window : {-1, 700}) {
    LayerSpec spec = grouped(1, 1, 16);
    if (window > 0) spec = cache_test::with_window(spec, window);
    const OnBoth both(make_npu_context(), spec, cache_test::as_paged(options_for(spec, 9000), 128, 71));
    both.fill({{0, counting_from(0, 3000)}});
    const uint64_t before = ascend_sim_count("execute:SelfAttentionOperation");
    EXPECT_LT(both.difference_of({{0, counting_from(3000, 6000)}}), OnBoth::kTolerance) << window;
    EXPECT_EQ(ascend_sim_count("execute:SelfAttentionOperation") - before, 2u) << window;
  }
}

// As many rows as the call has, and too many for PagedAttention.
TEST_F(CacheLimits, AReadingCallDoesNotTakeItsOwnRowsForThoseOfTheSequence) {
  LayerSpec spec = without_positions();
  spec.options.causal = HEED_CAUSAL_NONE;
  const OnBoth both(make_npu_context(), spec, options_for(spec, 300));
  both.fill({{0, counting_from(0, 20)}});
  EXPECT_LT(both.difference_of({{0, counting_from(50, 20)}}, HEED_CACHE_READ), OnBoth::kTolerance);
}

// An operation takes 384 tokens. Those of the second one have lengths of their own.
TEST_F(CacheLimits, EachTokenHasItsLength) {
  constexpr int64_t kTokens = 400;
  const LayerSpec spec = without_positions();
  const OnBoth both(make_npu_context(), spec, cache_test::as_paged(options_for(spec, 48, kTokens), 16, 1200));
  std::vector<Part> prompts;
  std::vector<Part> steps;
  for (int64_t sequence = 0; sequence < kTokens; ++sequence) {
    prompts.push_back({sequence, counting_from(sequence, 1 + sequence % 7 + (sequence < 384 ? 0 : 20))});
    steps.push_back({sequence, {sequence + 1000}});
  }
  EXPECT_LT(both.difference_of(prompts), OnBoth::kTolerance);
  EXPECT_LT(both.difference_of(steps), OnBoth::kTolerance);
}

// The operations of ATB are kept by their parameters while the device is open.
TEST_F(CacheLimits, LayersWithOtherNumbersOfKeyHeadsHaveOperationsOfTheirOwn) {
  const Context keeps_open = make_npu_context();
  for (const int64_t num_kv_heads : {1, 2, 4}) {
    const LayerSpec spec = grouped(num_kv_heads, 4 / num_kv_heads, 16);
    const OnBoth both(make_npu_context(), spec, options_for(spec, 60));
    for (int64_t row = 0; row < 3; ++row)
      EXPECT_LT(both.difference_of({{0, {row}}}), OnBoth::kTolerance) << num_kv_heads;
  }
}

// A page has at most 16,384 elements of a head: 64 rows of 256.
TEST_F(CacheLimits, PagesOfWideHeadsHaveFewerRows) {
  const LayerSpec spec = grouped(1, 2, 256);
  const heed_cache_options options = options_for(spec, 150, 3);
  for (const int64_t page_size : {0, 64}) {
    const OnBoth both(make_npu_context(), spec, cache_test::as_paged(options, page_size, 9));
    property::check(heed_cache_reserve(both.npu_cache(), 0, 65));
    EXPECT_EQ(heed_cache_free_pages(both.npu_cache()), 7);
    for (int64_t row = 0; row < 100; row += 25)
      EXPECT_LT(both.difference_of({{0, counting_from(row, 25)}, {1, {row}}}), OnBoth::kTolerance) << page_size;
  }
  expect_refused(spec, cache_test::as_paged(options, 128, 9), kInHostMemory);
}

TEST_F(CacheLimits, ARingIsInHostMemory) {
  const LayerSpec spec = cache_test::with_window(spec_of(), 15);
  const heed_cache_options options = cache_test::as_ring(options_for(spec, 32), 0);
  expect_refused(spec, options, kInHostMemory);
  const OnBoth both(make_lenient_context(), spec, options);
  for (int64_t row = 0; row < 100; row += 5)
    EXPECT_LT(both.difference_of({{0, counting_from(row, 5)}}), OnBoth::kTolerance);
}

TEST_F(CacheLimits, ASmallScaleIsRefused) {
  LayerSpec spec = spec_of();
  spec.options.scale = 1e-7F;
  expect_refused(spec, options_for(spec, 300), "scales below 1/256");
}

}  // namespace
}  // namespace heed::ascend_test
