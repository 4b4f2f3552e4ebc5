// SPDX-License-Identifier: Apache-2.0
// Layers with invalid options, or options that contradict each other.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"
#include "support/numbers.h"

namespace heed::capi_test {
namespace {

template <typename Options>
struct WrongOptions {
  const char* what;
  std::function<void(Options&)> change;
  std::vector<std::string> words;
  heed_status status = HEED_ERROR_INVALID_ARGUMENT;
};

void expect_refused_multi_head(const std::vector<WrongOptions<heed_multi_head_attention_options>>& table) {
  const Context context = make_context();
  std::vector<RefusedCall> calls;
  for (const auto& row : table) {
    calls.push_back({row.what,
                     [&](OutParameters& out) {
                       heed_multi_head_attention_options options = two_heads();
                       row.change(options);
                       return heed_multi_head_attention_create(context.get(), &options, &out.layer);
                     },
                     {row.status, row.words}});
  }
  expect_refused(calls);
}

void expect_refused_dot_product(const std::vector<WrongOptions<heed_dot_product_attention_options>>& table) {
  const Context context = make_context();
  std::vector<RefusedCall> calls;
  for (const auto& row : table) {
    calls.push_back({row.what,
                     [&](OutParameters& out) {
                       heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
                       row.change(options);
                       return heed_dot_product_attention_create(context.get(), &options, &out.layer);
                     },
                     {row.status, row.words}});
  }
  expect_refused(calls);
}

void expect_refused_additive(const std::vector<WrongOptions<heed_additive_attention_options>>& table) {
  const Context context = make_context();
  std::vector<RefusedCall> calls;
  for (const auto& row : table) {
    calls.push_back({row.what,
                     [&](OutParameters& out) {
                       heed_additive_attention_options options = five_hiddens();
                       row.change(options);
                       return heed_additive_attention_create(context.get(), &options, &out.layer);
                     },
                     {row.status, row.words}});
  }
  expect_refused(calls);
}

void expect_refused_general(const std::vector<WrongOptions<heed_general_attention_options>>& table) {
  const Context context = make_context();
  std::vector<RefusedCall> calls;
  for (const auto& row : table) {
    calls.push_back({row.what,
                     [&](OutParameters& out) {
                       heed_general_attention_options options = six_in_queries();
                       row.change(options);
                       return heed_general_attention_create(context.get(), &options, &out.layer);
                     },
                     {row.status, row.words}});
  }
  expect_refused(calls);
}

// Tests the options that all attention layers have.
template <typename Options>
std::vector<WrongOptions<Options>> wrong_shared_options() {
  return {
      {"dropout -0.1", [](Options& o) { o.dropout = -0.1f; }, {"dropout", "-0.1"}},
      {"dropout 1", [](Options& o) { o.dropout = 1.0f; }, {"dropout", "1"}},
      {"dropout NaN", [](Options& o) { o.dropout = kNaN; }, {"dropout", "nan"}},
      {"scale NaN",
       [](Options& o) { o.scale = kNaN; },
       {"options->scale is nan, expected a finite number, or 0 for the default"}},
      {"scale inf", [](Options& o) { o.scale = kInfinity; }, {"scale", "inf"}},
      {"scale -inf", [](Options& o) { o.scale = -kInfinity; }, {"scale", "-inf"}},
      {"soft_cap negative", [](Options& o) { o.soft_cap = -2.0f; }, {"soft_cap", "-2"}},
      {"soft_cap inf", [](Options& o) { o.soft_cap = kInfinity; }, {"soft_cap", "inf"}},
      {"soft_cap NaN", [](Options& o) { o.soft_cap = kNaN; }, {"soft_cap", "nan"}},
      {"window_left alone", [](Options& o) { o.window_left = 3; }, {"window_left", "3", "HEED_WINDOW_NONE"}},
      {"window_right alone", [](Options& o) { o.window_right = 4; }, {"window_right", "4", "HEED_WINDOW_NONE"}},
      {"causal -1", [](Options& o) { o.causal = -1; }, {"causal", "-1"}},
      {"causal 3", [](Options& o) { o.causal = 3; }, {"causal", "3"}},
      {"window -1", [](Options& o) { o.window = -1; }, {"window", "-1"}},
      {"window 3", [](Options& o) { o.window = 3; }, {"window", "3"}},
      {"empty_rows -1", [](Options& o) { o.empty_rows = -1; }, {"empty_rows", "-1"}},
      {"empty_rows 2", [](Options& o) { o.empty_rows = 2; }, {"empty_rows", "2"}},
  };
}

TEST(OptionErrors, OfDotProductAttention) {
  expect_refused_dot_product(wrong_shared_options<heed_dot_product_attention_options>());
}

TEST(OptionErrors, OfAdditiveAttention) {
  using Options = heed_additive_attention_options;
  expect_refused_additive(wrong_shared_options<Options>());
  const auto with_size = [](int64_t size) { return [size](Options& o) { o.num_hiddens = size; }; };
  expect_refused_additive({
      {"no size", with_size(0), {"options->num_hiddens is 0, expected at least 1"}},
      {"a negative size", with_size(-5), {"options->num_hiddens is -5, expected at least 1"}},
      {"the smallest size", with_size(INT64_MIN), {"num_hiddens", "-9223372036854775808"}},
  });
}

TEST(OptionErrors, OfGeneralAttention) {
  using Options = heed_general_attention_options;
  expect_refused_general(wrong_shared_options<Options>());
  const auto with_size = [](int64_t size) { return [size](Options& o) { o.query_size = size; }; };
  expect_refused_general({
      {"no size", with_size(0), {"options->query_size is 0, expected at least 1"}},
      {"a negative size", with_size(-5), {"options->query_size is -5, expected at least 1"}},
  });
}

TEST(OptionErrors, OfMultiHeadAttentionThatAllHave) {
  expect_refused_multi_head(wrong_shared_options<heed_multi_head_attention_options>());
}

TEST(OptionErrors, SizesThatDoNotFit) {
  using Options = heed_multi_head_attention_options;
  expect_refused_multi_head({
      {"no heads", [](Options& o) { o.num_heads = 0; }, {"num_heads", "0", "at least 1"}},
      {"negative heads", [](Options& o) { o.num_heads = -2; }, {"num_heads", "-2"}},
      {"num_hiddens not divisible", [](Options& o) { o.num_hiddens = 9; }, {"num_hiddens", "9", "num_heads", "2"}},
      {"num_hiddens negative", [](Options& o) { o.num_hiddens = -8; }, {"num_hiddens", "-8"}},
      {"num_kv_heads no divisor", [](Options& o) { o.num_kv_heads = 3; }, {"num_heads", "2", "num_kv_heads", "3"}},
      {"num_kv_heads above num_heads", [](Options& o) { o.num_kv_heads = 4; }, {"num_heads", "2", "num_kv_heads", "4"}},
      {"num_kv_heads negative", [](Options& o) { o.num_kv_heads = -1; }, {"num_kv_heads", "-1"}},
      {"head_size negative", [](Options& o) { o.head_size = -4; }, {"head_size", "-4"}},
      {"value_head_size negative", [](Options& o) { o.value_head_size = -4; }, {"value_head_size", "-4"}},
      {"output_size negative", [](Options& o) { o.output_size = -8; }, {"output_size", "-8"}},
      {"no size of a head", [](Options& o) { o.num_hiddens = 0; }, {"num_hiddens", "head_size", "0"}},
      {"no size of the output",
       [](Options& o) {
         o.num_hiddens = 0;
         o.head_size = 4;
       },
       {"num_hiddens", "0", "output_size"}},
      {"head_size that overflows",
       [](Options& o) { o.head_size = INT64_MAX / 2 + 1; },
       {"head_size", "4611686018427387904", "overflow"}},
      {"value_head_size that overflows",
       [](Options& o) { o.value_head_size = INT64_MAX; },
       {"value_head_size", "9223372036854775807", "overflow"}},
  });
}

TEST(OptionErrors, BiasesAndProjectionsThatContradict) {
  using Options = heed_multi_head_attention_options;
  expect_refused_multi_head({
      {"an unknown bit", [](Options& o) { o.biases = 16; }, {"biases", "16"}},
      {"all bits", [](Options& o) { o.biases = -1; }, {"biases", "-1"}},
      {"no_output_projection 2", [](Options& o) { o.no_output_projection = 2; }, {"no_output_projection", "2"}},
      {"no_output_projection with output_size",
       [](Options& o) {
         o.no_output_projection = 1;
         o.output_size = 8;
       },
       {"no_output_projection", "output_size", "8"}},
      {"no_output_projection with its bias",
       [](Options& o) {
         o.no_output_projection = 1;
         o.biases = HEED_BIAS_O;
       },
       {"no_output_projection", "HEED_BIAS_O"}},
      {"reserved", [](Options& o) { o.reserved = 1; }, {"reserved", "1"}},
      {"scoring -1", [](Options& o) { o.scoring = -1; }, {"scoring", "-1"}},
      {"scoring 2",
       [](Options& o) { o.scoring = 2; },
       {"options->scoring is 2, expected HEED_SCORING_DOT_PRODUCT (0) or HEED_SCORING_ADDITIVE (1)"}},
  });
}

template <typename Options>
void expect_refused_by(heed_status (*create)(heed_context*, const Options*, heed_layer**), const Options& valid,
                       const std::vector<WrongOptions<Options>>& table) {
  const Context context = make_context();
  std::vector<RefusedCall> calls;
  for (const auto& row : table) {
    calls.push_back({row.what,
                     [&](OutParameters& out) {
                       Options options = valid;
                       row.change(options);
                       return create(context.get(), &options, &out.layer);
                     },
                     {row.status, row.words}});
  }
  expect_refused(calls);
}

TEST(OptionErrors, OfLinearLayers) {
  using Options = heed_linear_options;
  expect_refused_by<Options>(
      heed_linear_create, five_outputs(),
      {
          {"no size", [](Options& o) { o.output_size = 0; }, {"options->output_size is 0", "at least 1"}},
          {"a negative size", [](Options& o) { o.output_size = -5; }, {"options->output_size is -5", "at least 1"}},
          {"no_bias 2", [](Options& o) { o.no_bias = 2; }, {"options->no_bias is 2", "0 or 1"}},
          {"no_bias -1", [](Options& o) { o.no_bias = -1; }, {"options->no_bias is -1", "0 or 1"}},
          {"reserved", [](Options& o) { o.reserved = 1; }, {"options->reserved is 1"}},
      });
}

TEST(OptionErrors, OfDropout) {
  using Options = heed_dropout_options;
  expect_refused_by<Options>(heed_dropout_create, one_half(),
                             {
                                 {"1", [](Options& o) { o.dropout = 1; }, {"options->dropout is 1", "below 1"}},
                                 {"negative", [](Options& o) { o.dropout = -0.1f; }, {"options->dropout is -0.1"}},
                                 {"NaN", [](Options& o) { o.dropout = kNaN; }, {"options->dropout is nan"}},
                                 {"infinite", [](Options& o) { o.dropout = kInfinity; }, {"options->dropout is inf"}},
                                 {"reserved", [](Options& o) { o.reserved = -1; }, {"options->reserved is -1"}},
                             });
}

TEST(Options, TheirLimitsAreAccepted) {
  const Context context = make_context();
  heed_multi_head_attention_options options = two_heads();
  options.dropout = std::nextafter(1.0f, 0.0f);
  options.scale = -std::numeric_limits<float>::max();
  options.soft_cap = std::numeric_limits<float>::denorm_min();
  options.window_left = -1;  // unlimited, with or without a window
  options.window_right = INT64_MIN;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
  heed_dropout_options dropout = one_half();
  dropout.dropout = std::nextafter(1.0f, 0.0f);
  EXPECT_NO_THROW(make_dropout(context.get(), dropout));
  heed_linear_options linear = five_outputs();
  linear.output_size = INT64_MAX;
  EXPECT_NO_THROW(make_linear(context.get(), linear));
  options.window = HEED_WINDOW_BOTTOM_RIGHT;
  options.window_left = INT64_MAX;
  options.window_right = INT64_MAX;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
}

TEST(Options, NoneAreTheMacrosValues) {
  const Context context = make_context();
  heed_context* second = nullptr;
  EXPECT_EQ(heed_context_create(nullptr, &second), HEED_OK);
  heed_context_destroy(second);
  heed_layer* layer = nullptr;
  ASSERT_EQ(heed_dot_product_attention_create(context.get(), nullptr, &layer), HEED_OK);
  EXPECT_EQ(heed_layer_is_initialized(layer), 1);
  EXPECT_EQ(heed_layer_parameter_count(layer), 0);
  heed_layer_destroy(layer);
  ASSERT_EQ(heed_dropout_create(context.get(), nullptr, &layer), HEED_OK);
  EXPECT_EQ(heed_layer_is_initialized(layer), 1);
  EXPECT_EQ(heed_layer_parameter_count(layer), 0);
  heed_layer_destroy(layer);
}

}  // namespace
}  // namespace heed::capi_test
