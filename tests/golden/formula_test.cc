// SPDX-License-Identifier: Apache-2.0
// heed's results against the formula of attention in float64, for options that torch.nn.MultiheadAttention does not
// have. make_formula.py generates the files.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <ostream>
#include <string>

#include "golden/support/golden_file.h"

namespace heed::golden {
namespace {

struct Golden {
  const char* file;
  float scale = 0;
  float soft_cap = 0;
  int32_t causal = HEED_CAUSAL_NONE;
  int32_t window = HEED_WINDOW_NONE;
  int64_t window_left = 0;
  int64_t window_right = 0;
  int32_t empty_rows = HEED_EMPTY_ROWS_ZERO;

  template <typename Options>
  void apply_to(Options* options) const {
    options->scale = scale;
    options->soft_cap = soft_cap;
    options->causal = causal;
    options->window = window;
    options->window_left = window_left;
    options->window_right = window_right;
    options->empty_rows = empty_rows;
  }
};

// heed's options for each file, as its metadata states them. The inputs are those tensors that the file has.
const Golden kGoldens[] = {
    {.file = "rank3"},
    {.file = "scale", .scale = -0.75F},
    {.file = "soft_cap", .soft_cap = 1.5F},
    {.file = "causal_top_left", .causal = HEED_CAUSAL_TOP_LEFT},
    {.file = "causal_bottom_right", .causal = HEED_CAUSAL_BOTTOM_RIGHT},
    {.file = "causal_empty", .causal = HEED_CAUSAL_BOTTOM_RIGHT},
    {.file = "causal_mean", .causal = HEED_CAUSAL_BOTTOM_RIGHT, .empty_rows = HEED_EMPTY_ROWS_MEAN},
    {.file = "window", .window = HEED_WINDOW_BOTTOM_RIGHT, .window_left = 2, .window_right = 1},
    {.file = "window_causal",
     .causal = HEED_CAUSAL_BOTTOM_RIGHT,
     .window = HEED_WINDOW_TOP_LEFT,
     .window_left = 3,
     .window_right = -1},
    {.file = "grouped"},
    {.file = "empty"},
    {.file = "everything",
     .scale = 0.7F,
     .soft_cap = 2.5F,
     .causal = HEED_CAUSAL_BOTTOM_RIGHT,
     .window = HEED_WINDOW_TOP_LEFT,
     .window_left = 3,
     .window_right = 2,
     .empty_rows = HEED_EMPTY_ROWS_MEAN},
};

// Shows a parameter in GoogleTest's messages.
std::ostream& operator<<(std::ostream& stream, const Golden& golden) { return stream << golden.file; }

class Formula : public testing::TestWithParam<Golden> {};

TEST_P(Formula, GivesTheSameOutputWeightsAndLogSumExp) {
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  GetParam().apply_to(&options);
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), std::string("formula_") + GetParam().file);
    const Layer layer = capi_test::make_dot_product(context.get(), options);
    const Inputs inputs(file);
    file.expect(forward(layer.get(), inputs.given), derive(layer.get(), options, inputs.given));
  });
}

INSTANTIATE_TEST_SUITE_P(Golden, Formula, testing::ValuesIn(kGoldens),
                         [](const testing::TestParamInfo<Golden>& test) { return std::string(test.param.file); });

void expect_multi_head_as_in(const char* name, const heed_multi_head_attention_options& options) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), name);
    const Layer layer = capi_test::make_multi_head(context.get(), options);
    check(heed_layer_load(layer.get(), file.path().c_str(), "attention"));
    const Inputs inputs(file);
    file.expect(forward(layer.get(), inputs.given), derive(layer.get(), options, inputs.given));
  });
}

TEST(FormulaMultiHead, WithSizesOfItsOwnAndEmptyRows) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = 4;
  options.num_kv_heads = 2;
  options.head_size = 3;
  options.value_head_size = 2;
  options.output_size = 6;
  options.biases = HEED_BIAS_ALL;
  options.scale = 0.4F;
  options.soft_cap = 3.0F;
  options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  options.empty_rows = HEED_EMPTY_ROWS_MEAN;
  expect_multi_head_as_in("formula_multi_head", options);
}

TEST(FormulaMultiHead, WithoutOutputProjection) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = 2;
  options.head_size = 3;
  options.value_head_size = 5;
  options.no_output_projection = 1;
  options.biases = HEED_BIAS_Q | HEED_BIAS_K | HEED_BIAS_V;
  expect_multi_head_as_in("formula_no_output", options);
}

}  // namespace
}  // namespace heed::golden
