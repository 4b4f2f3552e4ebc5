// SPDX-License-Identifier: Apache-2.0
// Outputs of wrong shape or dtype, outputs in memory that must not be written, and layers that are not ready for the
// call.
#include <gtest/gtest.h>

#include <cstdint>

#include "capi/support/wrong_call.h"

namespace heed::capi_test {
namespace {

TEST(OutputErrors, ShapesAndDTypes) {
  expect_refused(Kind::MultiHead, Reach::Call,
                 {
                     {"none at all", [](AttentionCall& c) { c.outputs = HEED_LAYER_OUTPUTS_INIT; },
                      invalid({"output", "weights", "log_sum_exp"})},
                     {"output of another size",
                      [](AttentionCall& c) {
                        c.outputs.output = c.zeros({2, 3, 9});
                      },
                      invalid({"outputs->output", "(2, 3, 9)", "(2, 3, 8)"})},
                     {"output of another rank",
                      [](AttentionCall& c) {
                        c.outputs.output = c.zeros({6, 8});
                      },
                      invalid({"outputs->output", "(6, 8)", "(2, 3, 8)"})},
                     {"weights without heads",
                      [](AttentionCall& c) {
                        c.outputs.weights = c.zeros({2, 3, 5});
                      },
                      invalid({"outputs->weights", "(2, 3, 5)", "(2, 2, 3, 5)"})},
                     {"log_sum_exp of keys",
                      [](AttentionCall& c) {
                        c.outputs.log_sum_exp = c.zeros({2, 2, 5});
                      },
                      invalid({"outputs->log_sum_exp", "(2, 2, 5)", "(2, 2, 3)"})},
                     {"output of F16 with inputs of F32",
                      [](AttentionCall& c) {
                        c.outputs.output = c.zeros({2, 3, 8}, HEED_F16);
                      },
                      invalid({"outputs->output", "F16", "F32"})},
                     {"output of F64",
                      [](AttentionCall& c) {
                        c.outputs.output = c.zeros({2, 3, 8}, HEED_F64);
                      },
                      invalid({"outputs->output", "F64", "F32"})},
                     {"weights of I32",
                      [](AttentionCall& c) {
                        c.outputs.weights = c.zeros({2, 2, 3, 5}, HEED_I32);
                      },
                      invalid({"outputs->weights", "I32", "F32"})},
                     {"log_sum_exp of F64",
                      [](AttentionCall& c) {
                        c.outputs.log_sum_exp = c.zeros({2, 2, 3}, HEED_F64);
                      },
                      invalid({"outputs->log_sum_exp", "F64", "F32"})},
                 });
}

TEST(OutputErrors, LogSumExpIsF32WhateverTheInputs) {
  AttentionCall call(Kind::MultiHead, {}, HEED_F16);
  call.outputs.log_sum_exp = call.zeros({2, 2, 3}, HEED_F16);
  EXPECT_TRUE(is_refused(call.forward(), invalid({"outputs->log_sum_exp", "F16", "F32"})));
  call.outputs.log_sum_exp = nullptr;
  call.outputs.output = call.zeros({2, 3, 8}, HEED_BF16);
  EXPECT_TRUE(is_refused(call.forward(), invalid({"outputs->output", "BF16", "F32"})));
  call.outputs.output = call.zeros({2, 3, 8}, HEED_F32);
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
}

TEST(OutputErrors, StridesThatCannotBeWritten) {
  expect_refused(Kind::MultiHead, Reach::Memory,
                 {
                     {"a zero stride",
                      [](AttentionCall& c) {
                        c.outputs.output = c.keep(make_view(c.zeros({100}), {2, 3, 8}, {24, 0, 1}));
                      },
                      invalid({"outputs->output", "stride 0", "axis 1", "(2, 3, 8)"})},
                     {"a negative stride",
                      [](AttentionCall& c) {
                        c.outputs.output = c.keep(make_view(c.zeros({100}), {2, 3, 8}, {24, 8, -1}, 7));
                      },
                      invalid({"outputs->output", "stride -1", "axis 2", "(2, 3, 8)"})},
                     {"a negative stride in weights",
                      [](AttentionCall& c) {
                        c.outputs.weights = c.keep(make_view(c.zeros({100}), {2, 2, 3, 5}, {-30, 15, 5, 1}, 30));
                      },
                      invalid({"outputs->weights", "stride -30", "axis 0"})},
                     {"rows that overlap",
                      [](AttentionCall& c) {
                        c.outputs.output = c.keep(make_view(c.zeros({100}), {2, 3, 8}, {24, 4, 1}));
                      },
                      invalid({"outputs->output", "(2, 3, 8)", "same place"})},
                     {"items that overlap",
                      [](AttentionCall& c) {
                        c.outputs.log_sum_exp = c.keep(make_view(c.zeros({100}), {2, 2, 3}, {5, 3, 1}));
                      },
                      invalid({"outputs->log_sum_exp", "(2, 2, 3)", "same place"})},
                 });
}

TEST(OutputErrors, MemoryOfOthers) {
  expect_refused(
      Kind::MultiHead, Reach::Memory,
      {
          {"an input's",
           [](AttentionCall& c) {
             heed_tensor* memory = c.zeros({100});
             c.inputs.queries = c.keep(make_view(memory, {2, 3, 6}, {}));
             c.outputs.output = c.keep(make_view(memory, {2, 3, 8}, {}, 35));
           },
           invalid({"outputs->output", "inputs->queries", "memory"})},
          {"the mask's, which is BOOL",
           [](AttentionCall& c) {
             float* memory = static_cast<float*>(heed_tensor_data(c.zeros({100})));
             c.inputs.mask = c.keep(wrap(c.context.get(), {3, 5}, {}, reinterpret_cast<char*>(memory) + 47, HEED_BOOL));
             c.outputs.log_sum_exp = c.keep(wrap(c.context.get(), {2, 2, 3}, {}, memory));
           },
           invalid({"outputs->log_sum_exp", "inputs->mask", "memory"})},
          {"the lengths'",
           [](AttentionCall& c) {
             auto* memory = static_cast<int32_t*>(heed_tensor_data(c.zeros({100}, HEED_I32)));
             c.inputs.valid_lens = c.keep(wrap(c.context.get(), {2}, {}, memory + 11, HEED_I32));
             c.outputs.log_sum_exp = c.keep(wrap(c.context.get(), {2, 2, 3}, {}, memory));
           },
           invalid({"outputs->log_sum_exp", "inputs->valid_lens", "memory"})},
          {"the bias's",
           [](AttentionCall& c) {
             heed_tensor* memory = c.zeros({100});
             c.inputs.bias = c.keep(make_view(memory, {3, 5}, {}));
             c.outputs.weights = c.keep(make_view(memory, {2, 2, 3, 5}, {}, 14));
           },
           invalid({"outputs->weights", "inputs->bias", "memory"})},
          {"the values', whole",
           [](AttentionCall& c) {
             heed_tensor* memory = c.zeros({100});
             c.inputs.values = c.keep(make_view(memory, {2, 5, 9}, {}));
             c.outputs.output = c.keep(make_view(memory, {2, 3, 8}, {}));
           },
           invalid({"outputs->output", "inputs->values", "memory"})},
          {"another output's",
           [](AttentionCall& c) {
             heed_tensor* memory = c.zeros({100});
             c.outputs.output = c.keep(make_view(memory, {2, 3, 8}, {}));
             c.outputs.log_sum_exp = c.keep(make_view(memory, {2, 2, 3}, {}, 47));
           },
           invalid({"outputs->output", "outputs->log_sum_exp", "memory"})},
          {"one tensor as two outputs",
           [](AttentionCall& c) {
             c.layer = make_dot_product(c.context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
             c.inputs.queries = c.zeros({2, 3, 4});
             c.inputs.keys = c.zeros({2, 5, 4});
             c.inputs.values = c.zeros({2, 5, 5});
             c.outputs = HEED_LAYER_OUTPUTS_INIT;
             c.outputs.output = c.outputs.weights = c.zeros({2, 3, 5});
           },
           invalid({"outputs->output", "outputs->weights", "memory"})},
      });
}

TEST(OutputErrors, ParametersSnapshots) {
  // W_q.weight is (8, 6), so it has as many elements as the output.
  expect_refused(Kind::MultiHead, Reach::Memory,
                 {{"a view of a snapshot",
                   [](AttentionCall& c) {
                     heed_tensor* weight = c.keep(snapshot(c.layer.get(), "W_q.weight"));
                     c.outputs.output = c.keep(make_reshaped(weight, {2, 3, 8}));
                   },
                   invalid({"outputs->output", "read-only"})}});
}

// The output's elements are between those of the inputs, but share no byte.
TEST(Outputs, MayInterleaveWithInputsAndOneAnother) {
  AttentionCall apart(Kind::DotProductRank3);
  ASSERT_EQ(apart.forward(), HEED_OK) << heed_last_error();

  AttentionCall together(Kind::DotProductRank3);
  heed_tensor* packed = together.zeros({2, 5, 20});  // (keys 4, values 6, output 6, unused 4) in a row
  heed_tensor* keys = together.keep(make_slice(packed, 2, 0, 4));
  heed_tensor* values = together.keep(make_slice(packed, 2, 4, 6));
  check(heed_tensor_copy(keys, together.inputs.keys));
  check(heed_tensor_copy(values, together.inputs.values));
  together.inputs.keys = keys;
  together.inputs.values = values;
  together.outputs.output = together.keep(make_view(packed, {2, 3, 6}, {100, 20, 1}, 10));
  // Two outputs whose elements alternate in memory.
  heed_tensor* pairs = together.zeros({2, 3, 5, 2});
  together.outputs.weights = together.keep(make_view(pairs, {2, 3, 5}, {30, 10, 2}));
  together.outputs.log_sum_exp = together.keep(make_view(pairs, {2, 3}, {30, 10}, 1));
  ASSERT_EQ(together.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(together.read_outputs(), apart.read_outputs());
}

TEST(LayerErrors, NotInitialized) {
  const auto forget_parameters = [](AttentionCall& c) { c.replace_layer(two_heads()); };
  expect_refused(Kind::MultiHead, Reach::Call,
                 {{"no parameters", forget_parameters, {HEED_ERROR_NOT_INITIALIZED, {"layer", "W_q.weight"}}},
                  {"one parameter is missing",
                   [](AttentionCall& c) {
                     c.replace_layer(two_heads());
                     check(heed_layer_set_parameter(c.layer.get(), "W_q.weight", c.zeros({8, 6})));
                     check(heed_layer_set_parameter(c.layer.get(), "W_k.weight", c.zeros({8, 7})));
                     check(heed_layer_set_parameter(c.layer.get(), "W_o.weight", c.zeros({8, 8})));
                   },
                   {HEED_ERROR_NOT_INITIALIZED, {"layer", "W_v.weight"}}}});
}

TEST(LayerErrors, InitializedForOtherSizes) {
  expect_refused(Kind::MultiHead, Reach::Parameters,
                 {
                     {"queries",
                      [](AttentionCall& c) {
                        c.inputs.queries = c.zeros({2, 3, 5});
                      },
                      invalid({"inputs->queries", "(2, 3, 5)", "W_q.weight", "(8, 6)"})},
                     {"keys",
                      [](AttentionCall& c) {
                        c.inputs.keys = c.zeros({2, 5, 8});
                      },
                      invalid({"inputs->keys", "(2, 5, 8)", "W_k.weight", "(8, 7)"})},
                     {"values",
                      [](AttentionCall& c) {
                        c.inputs.values = c.zeros({2, 5, 1});
                      },
                      invalid({"inputs->values", "(2, 5, 1)", "W_v.weight", "(8, 9)"})},
                     {"keys that default to the queries",
                      [](AttentionCall& c) {
                        c.inputs.keys = nullptr;
                        c.inputs.values = nullptr;
                        c.outputs.weights = nullptr;
                      },
                      invalid({"inputs->keys", "(2, 3, 6)", "W_k.weight", "(8, 7)"})},
                 });
}

TEST(LayerErrors, OfAdditiveAttention) {
  expect_refused(Kind::Additive, Reach::Call,
                 {{"one parameter is missing",
                   [](AttentionCall& c) {
                     c.layer = make_additive(c.context.get(), five_hiddens());
                     check(heed_layer_set_parameter(c.layer.get(), "W_q.weight", c.zeros({5, 6})));
                     check(heed_layer_set_parameter(c.layer.get(), "W_k.weight", c.zeros({5, 7})));
                   },
                   {HEED_ERROR_NOT_INITIALIZED, {"layer", "w_v.weight"}}}});
  expect_refused(Kind::Additive, Reach::Parameters,
                 {
                     {"queries",
                      [](AttentionCall& c) {
                        c.inputs.queries = c.zeros({2, 3, 5});
                      },
                      invalid({"inputs->queries", "(2, 3, 5)", "W_q.weight", "(5, 6)"})},
                     {"keys",
                      [](AttentionCall& c) {
                        c.inputs.keys = c.zeros({2, 5, 8});
                      },
                      invalid({"inputs->keys", "(2, 5, 8)", "W_k.weight", "(5, 7)"})},
                 });
  // Values are not projected, so their size is the output's.
  expect_refused(Kind::Additive, Reach::Call,
                 {{"values",
                   [](AttentionCall& c) {
                     c.inputs.values = c.zeros({2, 5, 4});
                   },
                   invalid({"outputs->output has dims (2, 3, 9), expected (2, 3, 4)"})}});
}

TEST(CreateOutputsErrors, WantedAndMembers) {
  const AttentionCall call(Kind::MultiHead);
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  const auto wanting = [&](int32_t wanted) {
    return [&, wanted](OutParameters&) {
      return heed_layer_create_outputs(call.layer.get(), &call.inputs, wanted, &made);
    };
  };
  const auto with_member = [&](heed_tensor* heed_layer_outputs::*member) {
    return [&, member](OutParameters&) {
      heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
      outputs.*member = call.outputs.output;
      const heed_status status = heed_layer_create_outputs(call.layer.get(), &call.inputs, HEED_WANT_OUTPUT, &outputs);
      EXPECT_EQ(outputs.*member, call.outputs.output);
      return status;
    };
  };
  expect_refused({
      {"nothing wanted", wanting(0), invalid({"wanted", "0"})},
      {"an unknown bit", wanting(8), invalid({"wanted", "8"})},
      {"all bits", wanting(-1), invalid({"wanted", "-1"})},
      {"output is set", with_member(&heed_layer_outputs::output), invalid({"outputs->output", "NULL"})},
      {"weights is set", with_member(&heed_layer_outputs::weights), invalid({"outputs->weights", "NULL"})},
      {"log_sum_exp is set", with_member(&heed_layer_outputs::log_sum_exp), invalid({"outputs->log_sum_exp", "NULL"})},
  });
  EXPECT_EQ(made.output, nullptr);
}

TEST(CreateOutputsErrors, SizesThatOverflow) {
  // Each input alone would be possible, but the weights of all heads together are too large.
  AttentionCall call(Kind::DotProductRank3);
  call.inputs.queries = call.inputs.keys = call.inputs.values = call.shape_only({1, int64_t{1} << 40, 1});
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  expect_refused({
      {"weights",
       [&](OutParameters&) {
         return heed_layer_create_outputs(call.layer.get(), &call.inputs, HEED_WANT_WEIGHTS, &made);
       },
       invalid(
           {"outputs->weights would have dims (1, 1099511627776, 1099511627776), whose product overflows, expected at "
            "most 2^63 - 1 elements"})},
  });
  EXPECT_EQ(made.weights, nullptr);
}

TEST(OutputErrors, OfLayersOfOneInput) {
  for (const Kind kind : kKindsOfOneInput) {
    const std::string name = name_of(kind);
    const auto none = [&name](const char* member) {
      return Refusal{
          HEED_ERROR_INVALID_ARGUMENT,
          {std::string("outputs->") + member + " is set, but a " + name + " layer has no such output, expected NULL"}};
    };
    expect_refused(kind, Reach::Call,
                   {
                       {"weights",
                        [](AttentionCall& c) {
                          c.outputs.weights = c.zeros({2, 3, 3});
                        },
                        none("weights")},
                       {"log_sum_exp",
                        [](AttentionCall& c) {
                          c.outputs.log_sum_exp = c.zeros({2, 3});
                        },
                        none("log_sum_exp")},
                       {"log_sum_exp alone",
                        [](AttentionCall& c) {
                          c.outputs.output = nullptr;
                          c.outputs.log_sum_exp = c.zeros({2, 3});
                        },
                        none("log_sum_exp")},
                       {"nothing",
                        [](AttentionCall& c) { c.outputs.output = nullptr; },
                        {HEED_ERROR_INVALID_ARGUMENT, {"outputs has no tensor"}}},
                       {"another shape",
                        [](AttentionCall& c) {
                          c.outputs.output = c.zeros({2, 3, 7});
                        },
                        {HEED_ERROR_INVALID_ARGUMENT,
                         {"outputs->output has dims (2, 3, 7)", kind == Kind::Linear ? "(2, 3, 5)" : "(2, 3, 6)"}}},
                   });
    const AttentionCall call(kind);
    for (const int32_t wanted : {2, 3, 4, 5, 6, 7}) {
      heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
      const char* bit = (wanted & HEED_WANT_WEIGHTS) != 0 ? "HEED_WANT_WEIGHTS" : "HEED_WANT_LOG_SUM_EXP";
      EXPECT_TRUE(is_refused(heed_layer_create_outputs(call.layer.get(), &call.inputs, wanted, &made),
                             {HEED_ERROR_INVALID_ARGUMENT,
                              {std::string("wanted has ") + bit + ", but a " + name +
                               " layer has no such output, expected HEED_WANT_OUTPUT alone"}}));
      EXPECT_EQ(made.output, nullptr);
    }
  }
}

TEST(LayerErrors, OfLinearLayers) {
  expect_refused(
      Kind::Linear, Reach::Parameters,
      {{"another input size",
        [](AttentionCall& c) {
          c.inputs.queries = c.zeros({2, 3, 7});
        },
        {HEED_ERROR_INVALID_ARGUMENT, {"inputs->queries has dims (2, 3, 7)", "weight has (5, 6)", "of 6"}}}});
  expect_refused(Kind::Linear, Reach::Call,
                 {{"not initialized",
                   [](AttentionCall& c) { c.layer = make_linear(c.context.get(), five_outputs()); },
                   {HEED_ERROR_NOT_INITIALIZED, {"weight is not set"}}},
                  {"no bias yet",
                   [](AttentionCall& c) {
                     c.layer = make_linear(c.context.get(), five_outputs());
                     check(heed_layer_set_parameter(c.layer.get(), "weight", c.zeros({5, 6})));
                   },
                   {HEED_ERROR_NOT_INITIALIZED, {"bias is not set"}}}});
}

}  // namespace
}  // namespace heed::capi_test
