// SPDX-License-Identifier: Apache-2.0
// Outputs that heed creates, and outputs that forward writes.
#include <gtest/gtest.h>

#include <cstdint>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

constexpr int32_t kEverySubset[] = {1, 2, 3, 4, 5, 6, 7};

TEST(CreateOutputs, CreatesTheRequestedOutputsOnly) {
  for (const Kind kind : kKinds) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      const AttentionCall call(kind, {}, dtype);
      for (const int32_t wanted : kEverySubset) {
        heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
        ASSERT_EQ(heed_layer_create_outputs(call.layer.get(), &call.inputs, wanted, &made), HEED_OK)
            << heed_last_error();
        const Tensor output(made.output);
        const Tensor weights(made.weights);
        const Tensor log_sum_exp(made.log_sum_exp);
        EXPECT_EQ(made.output != nullptr, (wanted & HEED_WANT_OUTPUT) != 0);
        EXPECT_EQ(made.weights != nullptr, (wanted & HEED_WANT_WEIGHTS) != 0);
        EXPECT_EQ(made.log_sum_exp != nullptr, (wanted & HEED_WANT_LOG_SUM_EXP) != 0);
        if (output) {
          EXPECT_EQ(heed_tensor_dtype(made.output), dtype);
        }
        if (weights) {
          EXPECT_EQ(heed_tensor_dtype(made.weights), dtype);
        }
        if (log_sum_exp) {
          EXPECT_EQ(heed_tensor_dtype(made.log_sum_exp), HEED_F32);
        }
      }
    }
  }
}

TEST(CreateOutputs, GivesTheDocumentedShapes) {
  const auto shapes = [](Kind kind) {
    const AttentionCall call(kind);
    return std::vector<Dims>{dims_of(call.outputs.output), dims_of(call.outputs.weights),
                             dims_of(call.outputs.log_sum_exp)};
  };
  EXPECT_EQ(shapes(Kind::MultiHead), (std::vector<Dims>{{2, 3, 8}, {2, 2, 3, 5}, {2, 2, 3}}));
  EXPECT_EQ(shapes(Kind::DotProductRank3), (std::vector<Dims>{{2, 3, 6}, {2, 3, 5}, {2, 3}}));
  EXPECT_EQ(shapes(Kind::DotProductRank4), (std::vector<Dims>{{2, 4, 3, 6}, {2, 4, 3, 5}, {2, 4, 3}}));
  EXPECT_EQ(shapes(Kind::MultiHeadAdditive), shapes(Kind::MultiHead));
  EXPECT_EQ(shapes(Kind::Additive), (std::vector<Dims>{{2, 3, 9}, {2, 3, 5}, {2, 3}}));
  EXPECT_EQ(shapes(Kind::General), shapes(Kind::Additive));
}

TEST(CreateOutputs, WorksBeforeTheLayerIsInitializedAndOnShapes) {
  AttentionCall call(Kind::MultiHead);
  call.replace_layer(two_heads());
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = call.shape_only({4, 3, 17});
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  ASSERT_EQ(heed_layer_create_outputs(call.layer.get(), &inputs, HEED_WANT_OUTPUT, &made), HEED_OK)
      << heed_last_error();
  EXPECT_EQ(dims_of(call.keep(Tensor(made.output))), (Dims{4, 3, 8}));
}

TEST(CreateOutputs, ThatRunsOutOfMemoryCreatesNone) {
  AttentionCall call(Kind::MultiHead);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = call.shape_only({1, 100, 6});
  inputs.keys = call.shape_only({1, int64_t{1} << 44, 7});
  inputs.values = call.shape_only({1, int64_t{1} << 44, 9});
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  EXPECT_EQ(heed_layer_create_outputs(call.layer.get(), &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS, &made),
            HEED_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(made.output, nullptr);
  EXPECT_EQ(made.weights, nullptr);
}

TEST(Forward, WritesTheSameBitsForEverySubsetOfTheOutputs) {
  for (const Kind kind : kKinds) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      const AttentionCall all(kind, {}, dtype);
      ASSERT_EQ(all.forward(), HEED_OK) << heed_last_error();
      for (const int32_t wanted : kEverySubset) {
        AttentionCall some(kind, {}, dtype);
        if ((wanted & HEED_WANT_OUTPUT) == 0) some.outputs.output = nullptr;
        if ((wanted & HEED_WANT_WEIGHTS) == 0) some.outputs.weights = nullptr;
        if ((wanted & HEED_WANT_LOG_SUM_EXP) == 0) some.outputs.log_sum_exp = nullptr;
        const Workspace workspace = make_workspace(some.context.get(), some.workspace_size());
        ASSERT_EQ(some.forward(workspace.get()), HEED_OK) << heed_last_error();
        if (some.outputs.output != nullptr) {
          EXPECT_EQ(read_bytes(some.outputs.output), read_bytes(all.outputs.output));
        }
        if (some.outputs.weights != nullptr) {
          EXPECT_EQ(read_bytes(some.outputs.weights), read_bytes(all.outputs.weights));
        }
        if (some.outputs.log_sum_exp != nullptr) {
          EXPECT_EQ(read_bytes(some.outputs.log_sum_exp), read_bytes(all.outputs.log_sum_exp));
        }
      }
    }
  }
}

TEST(Forward, TakesTensorsAndWorkspacesOfOtherContexts) {
  AttentionCall call(Kind::MultiHead);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> expected = call.read_outputs();
  const Context other = make_context();
  call.inputs.queries = call.keep(make_random(other.get(), {2, 3, 6}, 1));
  call.outputs.output = call.keep(make_tensor(other.get(), {2, 3, 8}));
  const Workspace workspace = make_workspace(other.get(), call.workspace_size());
  ASSERT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), expected);
}

TEST(Forward, InAStrictContextRunsOrGivesTheReason) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.strict = 1;
  heed_context* handle = nullptr;
  ASSERT_EQ(heed_context_create(&options, &handle), HEED_OK) << heed_last_error();
  AttentionCall call(Kind::DotProductRank3);
  call.context.reset(handle);
  call.layer = make_dot_product(handle, HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
  const heed_status status = call.forward();
  EXPECT_TRUE(status == HEED_OK || status == HEED_ERROR_NOT_FASTEST) << heed_last_error();
}

TEST(Forward, AcceptsSizesOfZero) {
  for (const Kind kind : kEveryKind) {
    for (const Sizes sizes : {Sizes{.batch = 0}, Sizes{.num_queries = 0}, Sizes{.num_keys = 0}, Sizes{0, 0, 0}}) {
      const AttentionCall call(kind, sizes);
      const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
      EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
      EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
    }
  }
}

TEST(Forward, BatchElementsWithoutQueriesTakeNoTime) {
  for (const Kind kind : kEveryKind) {
    // Their lengths and offsets have a number for each batch element.
    if (kind == Kind::Rotary || kind == Kind::Packed) continue;
    const AttentionCall call(kind, {.batch = int64_t{1} << 40, .num_queries = 0, .num_keys = 0});
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  }
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

}  // namespace
}  // namespace heed::capi_test
