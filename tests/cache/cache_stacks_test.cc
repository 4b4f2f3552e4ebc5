// SPDX-License-Identifier: Apache-2.0
// Caches of decoders whose layers have windows of their own, as Gemma's.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/support/caches.h"
#include "capi/support/objects.h"
#include "capi/support/refusal.h"

namespace heed::cache_test {
namespace {

using capi_test::invalid;
using capi_test::is_refused;

constexpr int64_t kSize = 16;

// A decoder with a layer for each window; 0: it sees all rows.
class Stack {
 public:
  explicit Stack(const std::vector<int64_t>& windows) : windows_(windows) {
    const size_t count = windows.size();
    heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
    rope.layout = HEED_ROPE_HALF;
    heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
    feed_forward.hidden_size = kSize;
    std::vector<heed_multi_head_attention_options> attentions(count, HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT);
    std::vector<heed_decoder_layer_options> layers(count, HEED_DECODER_LAYER_OPTIONS_INIT);
    std::vector<const heed_decoder_layer_options*> pointers;
    for (size_t i = 0; i < count; ++i) {
      attentions[i].num_hiddens = kSize;
      attentions[i].num_heads = 2;
      attentions[i].causal = HEED_CAUSAL_TOP_LEFT;
      attentions[i].rope = &rope;
      if (windows[i] > 0) {
        attentions[i].window = HEED_WINDOW_TOP_LEFT;
        attentions[i].window_left = windows[i] - 1;
      }
      layers[i].self_attention = &attentions[i];
      layers[i].feed_forward = &feed_forward;
      pointers.push_back(&layers[i]);
    }
    heed_decoder_options options = HEED_DECODER_OPTIONS_INIT;
    options.num_layers = static_cast<int64_t>(count);
    options.layers = pointers.data();
    heed_layer* made = nullptr;
    property::check(heed_decoder_create(context_.get(), &options, &made));
    layer_ = capi_test::Layer(made);
    rows_ = capi_test::make_tensor(context_.get(), {1, kNumRows, kSize});
    property::check(heed_tensor_fill_normal(rows_.get(), 0, 1, 3));
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = rows_.get();
    property::check(heed_layer_initialize(layer_.get(), &inputs, 7));
  }

  static constexpr int64_t kNumRows = 300;

  const heed_layer* layer() const { return layer_.get(); }

  heed_cache_options options(int64_t capacity) const {
    heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
    property::check(heed_layer_cache_options(layer_.get(), &options));
    options.capacity = capacity;
    return options;
  }
  Cache cache(const heed_cache_options& options) const { return make_cache(context_.get(), options); }

  // The outputs of some rows, given to the cache; without one, they see each other alone.
  heed_status run(heed_cache* cache, int64_t first, int64_t count, std::vector<float>& outputs) const {
    const capi_test::Tensor rows = capi_test::make_slice(rows_.get(), 1, first, count);
    heed_cache_inputs with_cache = HEED_CACHE_INPUTS_INIT;
    with_cache.cache = cache;
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = rows.get();
    inputs.cache = cache != nullptr ? &with_cache : nullptr;
    heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
    capi_test::forget_last_error();
    const heed_status refused = heed_layer_create_outputs(layer_.get(), &inputs, HEED_WANT_OUTPUT, &made);
    if (refused != HEED_OK) return refused;
    const capi_test::Tensor output(made.output);
    const heed_status status = heed_layer_forward(layer_.get(), &inputs, nullptr, &made);
    if (status != HEED_OK) return status;
    const std::vector<float> numbers = capi_test::read_floats(context_.get(), output.get());
    outputs.insert(outputs.end(), numbers.begin(), numbers.end());
    return HEED_OK;
  }

 private:
  std::vector<int64_t> windows_;
  capi_test::Context context_ = capi_test::make_context();
  capi_test::Layer layer_;
  capi_test::Tensor rows_;
};

std::vector<float> run_in_pieces(const Stack& stack, heed_cache* cache, const std::vector<int64_t>& sizes) {
  std::vector<float> outputs;
  int64_t first = 0;
  for (const int64_t size : sizes) {
    EXPECT_EQ(stack.run(cache, first, size, outputs), HEED_OK) << heed_last_error();
    first += size;
  }
  return outputs;
}

TEST(CacheStacks, LayersWithWindowsKeepTheirRows) {
  const Stack stack({4, 0, 17});
  const heed_cache_options options = stack.options(400);
  ASSERT_NE(options.layer_capacities, nullptr);
  EXPECT_EQ(std::vector<int64_t>(options.layer_capacities, options.layer_capacities + 3),
            (std::vector<int64_t>{4, 0, 17}));
  heed_cache_options all = options;
  all.layer_capacities = nullptr;
  const std::vector<int64_t> sizes = {150, 1, 1, 64, 65, 3, 1, 15};
  const Cache full = stack.cache(all);
  const Cache mixed = stack.cache(options);
  const std::vector<float> expected = run_in_pieces(stack, full.get(), sizes);
  EXPECT_EQ(run_in_pieces(stack, mixed.get(), sizes), expected);
  EXPECT_EQ(heed_cache_num_rows(mixed.get(), 0, 0), 80);
  EXPECT_EQ(heed_cache_num_rows(mixed.get(), 1, 0), 300);
  EXPECT_EQ(heed_cache_num_rows(mixed.get(), 2, 0), 96);
  EXPECT_EQ(heed_cache_first(mixed.get(), 0), 220);
  std::vector<float> without;
  ASSERT_EQ(stack.run(nullptr, 0, Stack::kNumRows, without), HEED_OK) << heed_last_error();
  ASSERT_EQ(without.size(), expected.size());
  for (size_t i = 0; i < without.size(); ++i) ASSERT_NEAR(without[i], expected[i], 1e-4) << i;
}

// The library of a program that was compiled with an older header.
TEST(CacheStacks, AnOlderStructGetsNoCapacities) {
  const Stack stack({4, 0});
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  options.struct_size = offsetof(heed_cache_options, layer_capacities);
  const int64_t other = 1;
  options.layer_capacities = &other;
  property::check(heed_layer_cache_options(stack.layer(), &options));
  EXPECT_EQ(options.layer_capacities, &other);
  EXPECT_EQ(options.num_layers, 2);
}

TEST(CacheStacks, WithoutWindowsHaveNoCapacities) { EXPECT_EQ(Stack({0, 0}).options(8).layer_capacities, nullptr); }

heed_cache_options ring_of(heed_cache_options options, int64_t capacity) {
  options.layout = HEED_CACHE_RING;
  options.capacity = capacity;
  return options;
}

// A ring is a window for layers that have none, and no other one for those that have.
TEST(CacheStacks, ARingThatHidesRowsFromALayerIsRefusedByItsPath) {
  const auto try_ring = [](const std::vector<int64_t>& windows, int64_t capacity) {
    const Stack stack(windows);
    const Cache cache = stack.cache(ring_of(stack.options(capacity), capacity));
    std::vector<float> outputs;
    return stack.run(cache.get(), 0, 40, outputs);
  };
  EXPECT_TRUE(is_refused(try_ring({4, 0}, 4),
                         invalid({"inputs->cache->cache", "last 4 rows", "layer 1", "\"layers.1\"", "all rows"})));
  EXPECT_TRUE(is_refused(try_ring({4, 0}, 200), invalid({"last 200 rows", "\"layers.1\"", "all rows"})));
  EXPECT_TRUE(is_refused(try_ring({17, 4}, 16), invalid({"last 16 rows", "layer 0", "\"layers.0\"", "17 rows"})));
  EXPECT_EQ(try_ring({17, 4}, 17), HEED_OK) << heed_last_error();
  EXPECT_EQ(try_ring({0, 0}, 4), HEED_OK) << heed_last_error();
}

TEST(CacheStacks, ALayerThatSeesMoreThanItsCapacityIsRefusedByItsPath) {
  const Stack stack({4, 0});
  heed_cache_options options = stack.options(400);
  const std::vector<int64_t> wrong = {4, 5};
  options.layer_capacities = wrong.data();
  const Cache cache = stack.cache(options);
  std::vector<float> outputs;
  EXPECT_TRUE(is_refused(stack.run(cache.get(), 0, 40, outputs),
                         invalid({"inputs->cache->cache", "last 5 rows", "layer 1", "\"layers.1", "all rows"})));
}

}  // namespace
}  // namespace heed::cache_test
