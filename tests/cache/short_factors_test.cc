// SPDX-License-Identifier: Apache-2.0
// heed_rope_options.short_factors: a call takes one of two lists by its largest position.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cache/support/caches.h"
#include "capi/support/files.h"
#include "capi/support/objects.h"

namespace heed::cache_test {
namespace {

using capi_test::check;
using capi_test::Context;
using capi_test::Layer;
using capi_test::make_context;
using capi_test::make_random;
using capi_test::make_slice;
using capi_test::make_tensor_of;
using capi_test::read_elements;
using capi_test::Tensor;

constexpr int64_t kOriginal = 5;
constexpr float kLong[] = {4.0F, 7.0F};
constexpr float kShort[] = {1.0F, 1.5F};

enum class Lists { Both, Long, Short };

// Two heads of 4 elements, causal.
Layer make_layer(heed_context* context, Lists lists) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = HEED_ROPE_HALF;
  rope.scaling = HEED_ROPE_SCALING_FACTORS;
  rope.num_factors = 2;
  rope.factors = lists == Lists::Short ? kShort : kLong;
  if (lists == Lists::Both) rope.short_factors = kShort;
  rope.original_length = kOriginal;
  rope.attention_factor = 1.25F;
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 8;
  options.num_heads = 2;
  options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  options.rope = &rope;
  Layer layer = capi_test::make_multi_head(context, options);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  const Tensor rows = capi_test::make_shape_only(context, {1, 1, 8});
  inputs.queries = rows.get();
  check(heed_layer_initialize(layer.get(), &inputs, 11));
  return layer;
}

std::vector<float> run(const Layer& layer, heed_layer_inputs inputs) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor output(outputs.output);
  check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  return read_elements<float>(output.get());
}

class ShortFactors : public testing::Test {
 protected:
  const Context context_ = make_context();
  const Layer both_ = make_layer(context_.get(), Lists::Both);
  const Layer long_ = make_layer(context_.get(), Lists::Long);
  const Layer short_ = make_layer(context_.get(), Lists::Short);
};

TEST_F(ShortFactors, CallTakesTheListOfItsNumberOfRows) {
  for (int64_t rows = 1; rows < 9; ++rows) {
    const Tensor queries = make_random(context_.get(), {2, rows, 8}, 3);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    EXPECT_EQ(run(both_, inputs), run(rows <= kOriginal ? short_ : long_, inputs)) << rows;
    EXPECT_EQ(run(short_, inputs) == run(long_, inputs), rows == 1);
  }
}

TEST_F(ShortFactors, AreInTheOptionsOfAFile) {
  const capi_test::TemporaryFolder folder;
  const std::string path = folder.path("layer.safetensors");
  check(heed_layer_save(both_.get(), path.c_str()));
  EXPECT_NE(capi_test::read_file(path).find(R"(\"short_factors\":[1,1.5])"), std::string::npos);
}

TEST_F(ShortFactors, CallTakesTheListOfItsLargestPosition) {
  const Tensor queries = make_random(context_.get(), {1, 3, 8}, 4);
  for (const int32_t last : {2, 4, 5, 100}) {
    const Tensor positions = make_tensor_of<int32_t>(context_.get(), {1, 3}, {0, 1, last});
    heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
    sequences.positions = positions.get();
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    inputs.sequences = &sequences;
    EXPECT_EQ(run(both_, inputs), run(last < kOriginal ? short_ : long_, inputs)) << last;
  }
}

TEST_F(ShortFactors, RowsOfAPackedBatchCountForThemselves) {
  const Tensor queries = make_random(context_.get(), {7, 8}, 5);
  const Tensor offsets = make_tensor_of<int32_t>(context_.get(), {3}, {0, 5, 7});
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  sequences.query_offsets = offsets.get();
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  inputs.sequences = &sequences;
  EXPECT_EQ(run(both_, inputs), run(short_, inputs));
}

heed_cache_options cache_options(bool unrotated) {
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  options.num_layers = 1;
  options.max_sequences = 1;
  options.num_kv_heads = 2;
  options.head_size = 4;
  options.capacity = 16;
  options.unrotated_keys = unrotated ? 1 : 0;
  return options;
}

TEST_F(ShortFactors, CacheOfRotatedKeysIsRefusedWhereTheListChanges) {
  const Cache cache = make_cache(context_.get(), cache_options(false));
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  cached.cache = cache.get();
  const Tensor rows = make_random(context_.get(), {1, 3, 8}, 6);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = rows.get();
  inputs.cache = &cached;
  const std::vector<float> is = run(both_, inputs);
  heed_cache_inputs other = HEED_CACHE_INPUTS_INIT;
  const Cache of_short = make_cache(context_.get(), cache_options(false));
  other.cache = of_short.get();
  inputs.cache = &other;
  EXPECT_EQ(is, run(short_, inputs));
  inputs.cache = &cached;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(both_.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor output(outputs.output);
  // Positions 3 to 5.
  EXPECT_EQ(heed_layer_forward(both_.get(), &inputs, nullptr, &outputs), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(heed_last_error()).find("holds keys with the rotary positions"), std::string::npos)
      << heed_last_error();
  EXPECT_EQ(heed_cache_length(cache.get(), 0), 3);
}

TEST_F(ShortFactors, LongerSequencesGoOnWithTheLongList) {
  const Cache cache = make_cache(context_.get(), cache_options(false));
  const Cache other = make_cache(context_.get(), cache_options(false));
  for (const int64_t count : {6, 1, 2}) {
    const Tensor rows = make_random(context_.get(), {1, count, 8}, static_cast<uint64_t>(count));
    heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = rows.get();
    inputs.cache = &cached;
    cached.cache = cache.get();
    const std::vector<float> is = run(both_, inputs);
    cached.cache = other.get();
    EXPECT_EQ(is, run(long_, inputs));
  }
}

TEST_F(ShortFactors, CacheOfUnrotatedKeysMayChangeTheList) {
  const Cache cache = make_cache(context_.get(), cache_options(true));
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  cached.cache = cache.get();
  const Tensor rows = make_random(context_.get(), {1, 8, 8}, 7);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.cache = &cached;
  const Tensor head = make_slice(rows.get(), 1, 0, 3);
  inputs.queries = head.get();
  run(both_, inputs);
  const Tensor tail = make_slice(rows.get(), 1, 3, 5);
  inputs.queries = tail.get();
  const std::vector<float> is = run(both_, inputs);
  inputs.cache = nullptr;
  inputs.queries = rows.get();
  const std::vector<float> whole = run(long_, inputs);
  for (size_t i = 0; i < is.size(); ++i) EXPECT_NEAR(is[i], whole[whole.size() - is.size() + i], 1e-5F) << i;
}

}  // namespace
}  // namespace heed::cache_test
