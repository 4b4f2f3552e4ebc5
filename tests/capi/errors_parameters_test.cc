// SPDX-License-Identifier: Apache-2.0
// Parameters that do not exist, or whose values do not fit.
#include <gtest/gtest.h>

#include <cstdint>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

TEST(ParameterErrors, UnknownNames) {
  AttentionCall call(Kind::MultiHead);
  heed_layer* const layer = call.layer.get();
  const heed_tensor* value = call.zeros({8});
  const auto get = [layer](const char* name) {
    return [=](OutParameters& out) { return heed_layer_parameter(layer, name, &out.tensor); };
  };
  const auto set = [=](const char* name) {
    return [=](OutParameters&) { return heed_layer_set_parameter(layer, name, value); };
  };
  const std::vector<std::string> all = {"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"};
  const auto not_found = [&](const std::string& name) {
    std::vector<std::string> words = all;
    words.push_back('"' + name + '"');
    return Refusal{HEED_ERROR_NOT_FOUND, words};
  };
  expect_refused({
      {"get: unknown", get("W_x.weight"), not_found("W_x.weight")},
      {"get: empty", get(""), not_found("")},
      {"get: a bias that the options lack", get("W_q.bias"), not_found("W_q.bias")},
      {"get: in other letters", get("w_q.weight"), not_found("w_q.weight")},
      {"set: unknown", set("W_x.weight"), not_found("W_x.weight")},
      {"set: a bias that the options lack", set("W_o.bias"), not_found("W_o.bias")},
      {"shape: unknown",
       [layer](OutParameters& out) { return heed_layer_parameter_shape(layer, "W_x.weight", &out.tensor); },
       not_found("W_x.weight")},
      {"get: not ASCII", get("W_\xC3\xA4"), not_found("W_\\xC3\\xA4")},
      {"get: a quotation mark", get("W\"q"), not_found("W\\x22q")},
  });
}

TEST(ParameterErrors, IndexesOutOfRange) {
  const AttentionCall call(Kind::MultiHead);
  for (const int64_t index : {int64_t{-1}, int64_t{4}, INT64_MAX, INT64_MIN}) {
    forget_last_error();
    EXPECT_EQ(heed_layer_parameter_name(call.layer.get(), index), nullptr);
    EXPECT_TRUE(is_refused(heed_last_status(), invalid({"index", std::to_string(index), "4"})));
  }
}

TEST(ParameterErrors, ALayerWithoutParametersSaysSo) {
  AttentionCall call(Kind::DotProductRank3);
  OutParameters out;
  EXPECT_TRUE(is_refused(heed_layer_parameter(call.layer.get(), "W_q.weight", &out.tensor),
                         {HEED_ERROR_NOT_FOUND, {"W_q.weight", "none"}}));
  EXPECT_TRUE(is_refused(heed_layer_set_parameter(call.layer.get(), "W_q.weight", call.inputs.queries),
                         {HEED_ERROR_NOT_FOUND, {"W_q.weight", "none"}}));
}

TEST(ParameterErrors, ParametersThatAreNotSetYet) {
  const Context context = make_context();
  const Layer layer = make_multi_head(context.get(), two_heads());
  expect_refused({
      {"get",
       [&](OutParameters& out) { return heed_layer_parameter(layer.get(), "W_k.weight", &out.tensor); },
       {HEED_ERROR_NOT_INITIALIZED, {"W_k.weight"}}},
      {"shape",
       [&](OutParameters& out) { return heed_layer_parameter_shape(layer.get(), "W_k.weight", &out.tensor); },
       {HEED_ERROR_NOT_INITIALIZED, {"W_k.weight"}}},
      {"save",
       [&](OutParameters&) { return heed_layer_save(layer.get(), "never-written.safetensors"); },
       {HEED_ERROR_NOT_INITIALIZED, {"W_q.weight"}}},
  });
}

TEST(ParameterErrors, ValuesThatDoNotFit) {
  AttentionCall call(Kind::MultiHead);
  const auto set = [&](const char* name, const heed_tensor* value) {
    heed_layer* const layer = call.layer.get();
    return [=](OutParameters&) { return heed_layer_set_parameter(layer, name, value); };
  };
  const std::vector<RefusedCall> calls = {
      {"another input size", set("W_q.weight", call.zeros({8, 5})),
       invalid({"value", "(8, 5)", "(8, 6)", "W_q.weight"})},
      {"another output size", set("W_k.weight", call.zeros({9, 7})), invalid({"value", "(9, 7)", "(8, 7)"})},
      {"transposed", set("W_v.weight", call.zeros({9, 8})), invalid({"value", "(9, 8)", "(8, 9)"})},
      {"another rank", set("W_o.weight", call.zeros({64})), invalid({"value", "(64)", "(8, 8)"})},
      {"I32", set("W_q.weight", call.zeros({8, 6}, HEED_I32)), invalid({"value", "I32", "F32", "F16", "BF16", "F64"})},
      {"BOOL", set("W_q.weight", call.zeros({8, 6}, HEED_BOOL)), invalid({"value", "BOOL"})},
      {"shape-only", set("W_q.weight", call.shape_only({8, 6})), invalid({"value", "shape-only"})},
  };
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> before = call.read_outputs();
  expect_refused(calls);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), before) << "a refused value changed the layer";

  // Before a layer has parameters only the size of its input is open.
  call.replace_layer(two_heads());
  expect_refused({
      {"another output size", set("W_q.weight", call.zeros({7, 6})), invalid({"value", "(7, 6)", "(8, any)"})},
      {"another rank", set("W_q.weight", call.zeros({8})), invalid({"value", "(8)", "(8, any)"})},
      {"the output's projection", set("W_o.weight", call.zeros({8, 9})), invalid({"value", "(8, 9)", "(8, 8)"})},
      {"I64", set("W_q.weight", call.zeros({8, 6}, HEED_I64)), invalid({"value", "I64"})},
  });
  EXPECT_EQ(heed_layer_is_initialized(call.layer.get()), 0);
}

TEST(ParameterErrors, ValuesThatDoNotFitAdditiveAttention) {
  AttentionCall call(Kind::Additive);
  call.layer = make_additive(call.context.get(), five_hiddens());
  const auto set = [&](const char* name, const heed_tensor* value) {
    heed_layer* const layer = call.layer.get();
    return [=](OutParameters&) { return heed_layer_set_parameter(layer, name, value); };
  };
  expect_refused({
      {"another number of hidden elements", set("W_q.weight", call.zeros({6, 6})),
       invalid({"value has dims (6, 6), expected (5, any) for W_q.weight"})},
      {"w_v as a vector", set("w_v.weight", call.zeros({5})),
       invalid({"value has dims (5), expected (1, 5) for w_v.weight"})},
      {"w_v as a column", set("w_v.weight", call.zeros({5, 1})),
       invalid({"value has dims (5, 1), expected (1, 5) for w_v.weight"})},
      {"a projection of values",
       set("W_v.weight", call.zeros({5, 9})),
       {HEED_ERROR_NOT_FOUND, {"\"W_v.weight\"", "W_q.weight, W_k.weight, w_v.weight"}}},
      {"a bias", set("W_q.bias", call.zeros({5})), {HEED_ERROR_NOT_FOUND, {"\"W_q.bias\""}}},
  });
}

TEST(ParameterErrors, InitializeThatRunsOutOfMemoryChangesNothing) {
  AttentionCall call(Kind::MultiHead);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> before = call.read_outputs();
  heed_layer_inputs huge = HEED_LAYER_INPUTS_INIT;
  huge.queries = call.inputs.queries;
  huge.keys = call.shape_only({2, 5, int64_t{1} << 44});
  EXPECT_TRUE(is_refused(heed_layer_initialize(call.layer.get(), &huge, 7), {HEED_ERROR_OUT_OF_MEMORY, {"bytes"}}));
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), before);

  huge.keys = call.shape_only({0, 5, INT64_MAX / 20});
  huge.queries = call.zeros({0, 3, 6});
  EXPECT_TRUE(is_refused(heed_layer_initialize(call.layer.get(), &huge, 7),
                         invalid({"W_k.weight would have dims", ", whose ", " overflows, expected at most 2^63 - 1"})));

  // A weight of one output, which takes a whole vector when it is packed.
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = 1;
  const Layer linear = make_linear(call.context.get(), options);
  heed_layer_inputs wide = HEED_LAYER_INPUTS_INIT;
  wide.queries = call.shape_only({1, 1, INT64_MAX / 8});
  EXPECT_TRUE(is_refused(heed_layer_initialize(linear.get(), &wide, 7),
                         invalid({"weight would have dims (1, 1152921504606846975), whose packed form overflows"})));
}

}  // namespace
}  // namespace heed::capi_test
