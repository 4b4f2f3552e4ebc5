// SPDX-License-Identifier: Apache-2.0
// Additive attention against its formula in float64. make_additive.py generates the files.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include "golden/support/golden_file.h"

namespace heed::golden {
namespace {

void expect_as_in(const char* name, const auto& options, const auto& make) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), name);
    const Layer layer = make(context.get(), options);
    check(heed_layer_load(layer.get(), file.path().c_str(), "attention"));
    const Inputs inputs(file);
    file.expect(forward(layer.get(), inputs.given), derive(layer.get(), options, inputs.given));
  });
}

heed_additive_attention_options additive(int64_t num_hiddens) {
  heed_additive_attention_options options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = num_hiddens;
  return options;
}

heed_multi_head_attention_options multi_head(int64_t num_heads, int64_t num_kv_heads) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = num_heads;
  options.num_kv_heads = num_kv_heads;
  options.head_size = 3;
  options.value_head_size = 2;
  options.output_size = 6;
  options.biases = HEED_BIAS_ALL;
  options.scoring = HEED_SCORING_ADDITIVE;
  return options;
}

TEST(Additive, WithLengthsPerBatchElement) { expect_as_in("additive_lens", additive(7), capi_test::make_additive); }

TEST(Additive, WithLengthsPerQueryAndEmptyRows) {
  expect_as_in("additive_lens_per_query", additive(7), capi_test::make_additive);
}

TEST(Additive, WithTheMeanForEmptyRows) {
  heed_additive_attention_options options = additive(1);
  options.empty_rows = HEED_EMPTY_ROWS_MEAN;
  expect_as_in("additive_mean", options, capi_test::make_additive);
}

TEST(Additive, InEveryHead) { expect_as_in("additive_multi_head", multi_head(2, 2), capi_test::make_multi_head); }

TEST(Additive, InGroupedHeadsWithScaleAndBias) {
  heed_multi_head_attention_options options = multi_head(4, 2);
  options.scale = 1.5F;
  expect_as_in("additive_multi_head_grouped", options, capi_test::make_multi_head);
}

}  // namespace
}  // namespace heed::golden
