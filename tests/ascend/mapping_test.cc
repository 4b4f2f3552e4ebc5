// SPDX-License-Identifier: Apache-2.0
// Which operations of ATB each call becomes, and which calls run on the CPU, with the reason. The property tests check
// the numbers.
#include <nlohmann/json.hpp>

#include "ascend/support/explained.h"
#include "ascend/support/simulated.h"
#include "capi/support/refusal.h"

namespace heed::ascend_test {
namespace {

using capi_test::is_refused;
using capi_test::make_random;
using capi_test::make_tensor;
using nlohmann::json;

class Mapping : public Simulated {
 protected:
  // Like make_npu_context, but not strict.
  static Context make_lenient_context() {
    heed_context_options options = npu_options();
    options.strict = 0;
    return capi_test::make_context(&options);
  }
};

struct DotProduct {
  DotProduct(heed_context* context, const heed_dot_product_attention_options& options, int64_t num_queries = 5,
             int64_t num_keys = 5, int64_t head_size = 16, heed_dtype dtype = HEED_F16)
      : layer(capi_test::make_dot_product(context, options)),
        queries(make_random(context, {2, num_queries, head_size}, 1, dtype)),
        keys(make_random(context, {2, num_keys, head_size}, 2, dtype)),
        output(make_tensor(context, {2, num_queries, head_size}, dtype)) {
    inputs.queries = queries.get();
    inputs.keys = keys.get();
    outputs.output = output.get();
  }

  heed_status forward() const { return heed_layer_forward(layer.get(), &inputs, nullptr, &outputs); }

  Layer layer;
  Tensor queries;
  Tensor keys;
  Tensor output;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
};

TEST_F(Mapping, ADenseAttentionIsOneOperation) {
  const Context context = make_npu_context();
  const DotProduct attention(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
  property::check(attention.forward());
  const uint64_t before = ascend_sim_count("execute");
  const uint64_t fused = ascend_sim_count("execute:SelfAttentionOperation");
  property::check(attention.forward());
  EXPECT_EQ(ascend_sim_count("execute") - before, 1u);
  EXPECT_EQ(ascend_sim_count("execute:SelfAttentionOperation") - fused, 1u);
}

// Post norm, GELU, biases, all in F16: queries, keys, values, output and two products of the network; a residual for each
// of its two parts.
TEST_F(Mapping, AnEncoderLayerIsTwelveOperations) {
  const Context context = make_npu_context();
  heed_multi_head_attention_options attention = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  attention.num_hiddens = 64;
  attention.num_heads = 4;
  attention.biases = HEED_BIAS_ALL;
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  feed_forward.hidden_size = 128;
  feed_forward.activation = HEED_ACTIVATION_GELU;
  heed_encoder_layer_options options = HEED_ENCODER_LAYER_OPTIONS_INIT;
  options.attention = &attention;
  options.feed_forward = &feed_forward;
  const Layer layer = capi_test::make_encoder_layer(context.get(), options);
  const Tensor queries = make_random(context.get(), {2, 5, 64}, 1, HEED_F16);
  const Tensor output = make_tensor(context.get(), {2, 5, 64}, HEED_F16);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.queries = queries.get();
  outputs.output = output.get();
  property::check(heed_layer_initialize(layer.get(), &inputs, 1));
  property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  property::check(heed_context_synchronize(context.get()));
  struct Count {
    const char* operation;
    uint64_t number;
  };
  constexpr Count kCounts[] = {{"execute", 12},
                               {"execute:LinearOperation", 6},
                               {"execute:SelfAttentionOperation", 1},
                               {"execute:ActivationOperation", 1},
                               {"execute:ElewiseOperation", 2},
                               {"execute:LayerNormOperation", 2},
                               {"memcpy_h2d", 0},
                               {"memcpy_d2h", 0}};
  std::vector<uint64_t> before;
  for (const Count& count : kCounts) before.push_back(ascend_sim_count(count.operation));
  property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(ascend_sim_count(kCounts[i].operation) - before[i], kCounts[i].number) << kCounts[i].operation;
}

// A causal mask is a triangle of 128 x 128, which is uploaded once, whatever the number of keys.
TEST_F(Mapping, ACausalMaskIsUploadedOnce) {
  const Context context = make_npu_context();
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.causal = HEED_CAUSAL_TOP_LEFT;
  const DotProduct attention(context.get(), options, 300, 300);
  property::check(attention.forward());
  property::check(heed_context_synchronize(context.get()));
  const uint64_t uploads = ascend_sim_count("memcpy_h2d");
  property::check(attention.forward());
  EXPECT_EQ(ascend_sim_count("memcpy_h2d"), uploads);
}

TEST_F(Mapping, TheOutputIsTheSameWithWeightsAndLogSumExp) {
  const Context context = make_npu_context();
  Attention attention(context.get(), HEED_BF16, {4, 2});
  property::check(attention.forward());
  const std::vector<uint8_t> alone = capi_test::read_bytes(attention.output.get());
  const Tensor weights = make_tensor(context.get(), {2, 4, 4, 6});
  const Tensor log_sum_exp = make_tensor(context.get(), {2, 4, 4});
  attention.outputs.weights = weights.get();
  attention.outputs.log_sum_exp = log_sum_exp.get();
  const uint64_t fused = ascend_sim_count("execute:SelfAttentionOperation");
  property::check(attention.forward());
  EXPECT_EQ(ascend_sim_count("execute:SelfAttentionOperation") - fused, 1u);
  EXPECT_EQ(capi_test::read_bytes(attention.output.get()), alone);
}

// A batch may have more elements than one launch of the kernel has room for. Lengths differ, some are 0.
TEST_F(Mapping, ALargeBatchIsSplit) {
  const Context context = make_npu_context();
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  const int64_t batch = 800;
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < batch; ++i) lengths.push_back(i * 7 % 5);
  for (const int32_t causal : {HEED_CAUSAL_NONE, HEED_CAUSAL_BOTTOM_RIGHT}) {
    options.causal = causal;
    const Layer layer = capi_test::make_dot_product(context.get(), options);
    const Tensor queries = make_random(context.get(), {batch, 3, 16}, 1, HEED_F16);
    const Tensor keys = make_random(context.get(), {batch, 4, 16}, 2, HEED_F16);
    const Tensor lens = capi_test::make_tensor_of<int64_t>(context.get(), {batch}, lengths);
    const Tensor output = make_tensor(context.get(), {batch, 3, 16}, HEED_F16);
    const auto attend = [&](const heed_tensor* q, const heed_tensor* k, const heed_tensor* n, heed_tensor* result) {
      heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
      heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
      inputs.queries = q;
      inputs.keys = k;
      inputs.valid_lens = n;
      outputs.output = result;
      property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    };
    const uint64_t before = ascend_sim_count("execute:SelfAttentionOperation");
    attend(queries.get(), keys.get(), lens.get(), output.get());
    EXPECT_EQ(ascend_sim_count("execute:SelfAttentionOperation") - before, 3u);
    for (const int64_t i : {0, 383, 384, 385, 767, 768, 799}) {
      const auto element = [i](const Tensor& all) { return capi_test::make_slice(all.get(), 0, i, 1); };
      const Tensor alone = make_tensor(context.get(), {1, 3, 16}, HEED_F16);
      attend(element(queries).get(), element(keys).get(), element(lens).get(), alone.get());
      EXPECT_EQ(capi_test::read_bytes(alone.get()), capi_test::read_bytes(element(output).get()))
          << "batch element " << i;
    }
  }
}

struct Gap {
  const char* reason;
  heed_dot_product_attention_options options;
  int64_t head_size;
};

std::vector<Gap> gaps() {
  std::vector<Gap> all(3, {"", HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT, 16});
  all[0].reason = "soft cap";
  all[0].options.soft_cap = 20;
  all[1].reason = "heads above 256 elements";
  all[1].head_size = 257;
  all[2].reason = "scales below 1/256";
  all[2].options.scale = -0.0038f;
  return all;
}

TEST_F(Mapping, WhatAtbLacksRunsOnTheCpuAndExplainSaysSo) {
  const Context context = make_lenient_context();
  const Context cpu = capi_test::make_context();
  for (const Gap& gap : gaps()) {
    const DotProduct attention(context.get(), gap.options, 5, 5, gap.head_size);
    const json explained = explain(attention.layer.get(), attention.inputs, attention.outputs);
    ASSERT_EQ(explained["not_fastest"].size(), 1u) << explained.dump();
    EXPECT_NE(explained["not_fastest"][0].get<std::string>().find(gap.reason), std::string::npos) << explained.dump();
    const uint64_t before = ascend_sim_count("execute");
    property::check(attention.forward());
    EXPECT_EQ(ascend_sim_count("execute"), before);
    const DotProduct expected(cpu.get(), gap.options, 5, 5, gap.head_size);
    property::check(expected.forward());
    EXPECT_EQ(capi_test::read_bytes(attention.output.get()), capi_test::read_bytes(expected.output.get()));
  }
}

TEST_F(Mapping, WhatAtbLacksIsRefusedByAStrictContext) {
  const Context context = make_npu_context();
  for (const Gap& gap : gaps()) {
    const DotProduct attention(context.get(), gap.options, 5, 5, gap.head_size);
    EXPECT_TRUE(is_refused(attention.forward(), {HEED_ERROR_NOT_FASTEST, {"attention", gap.reason}}));
  }
}

// Weights are computed by Linear, which has no limit for the head size.
TEST_F(Mapping, WeightsAloneAreComputedForHeadsOfAnySize) {
  const Context context = make_npu_context();
  DotProduct attention(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT, 5, 5, 300);
  EXPECT_TRUE(is_refused(attention.forward(), {HEED_ERROR_NOT_FASTEST, {"heads above 256 elements"}}));
  const Tensor weights = make_tensor(context.get(), {2, 5, 5}, HEED_F16);
  attention.outputs.output = nullptr;
  attention.outputs.weights = weights.get();
  const uint64_t products = ascend_sim_count("execute:LinearOperation");
  property::check(attention.forward());
  EXPECT_GT(ascend_sim_count("execute:LinearOperation"), products);
}

// The reason follows from sizes alone: no mask is allocated.
TEST_F(Mapping, ExplainReportsAMaskThatIsTooLarge) {
  const Context context = make_npu_context();
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.window = HEED_WINDOW_TOP_LEFT;
  options.window_left = options.window_right = 8;
  const Layer layer = capi_test::make_dot_product(context.get(), options);
  const Tensor tokens = capi_test::make_shape_only(context.get(), {1, 100'000, 16}, HEED_F16);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.queries = tokens.get();
  outputs.output = tokens.get();
  const std::string text = explain(layer.get(), inputs, outputs)["not_fastest"].dump();
  EXPECT_NE(text.find("would take more than 4 GB, expected fewer pairs"), std::string::npos) << text;
}

// Weights and log_sum_exp need all scores in memory; the output alone does not.
TEST_F(Mapping, ExplainReportsScoresThatAreTooLarge) {
  const Context context = make_npu_context();
  const Layer layer = capi_test::make_dot_product(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
  const Tensor tokens = capi_test::make_shape_only(context.get(), {1, 100'000, 16}, HEED_F16);
  const Tensor sums = capi_test::make_shape_only(context.get(), {1, 100'000});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.queries = tokens.get();
  outputs.output = tokens.get();
  EXPECT_EQ(explain(layer.get(), inputs, outputs)["not_fastest"].size(), 0u);
  outputs.log_sum_exp = sums.get();
  const std::string text = explain(layer.get(), inputs, outputs)["not_fastest"].dump();
  EXPECT_NE(text.find("would take more than 4 GB for one batch element"), std::string::npos) << text;
}

TEST_F(Mapping, LengthsThatHideNothingKeepTheTriangle) {
  const Context context = make_npu_context();
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.causal = HEED_CAUSAL_TOP_LEFT;
  DotProduct attention(context.get(), options);
  property::check(attention.forward());
  const std::vector<uint8_t> without = capi_test::read_bytes(attention.output.get());
  const Tensor lens = capi_test::make_tensor_of<int64_t>(context.get(), {2}, {5, 5});
  property::check(heed_context_synchronize(context.get()));
  attention.inputs.valid_lens = lens.get();
  const uint64_t uploads = ascend_sim_count("memcpy_h2d");
  property::check(attention.forward());
  EXPECT_EQ(ascend_sim_count("memcpy_h2d"), uploads);
  EXPECT_EQ(capi_test::read_bytes(attention.output.get()), without);
}

// Lengths without data count as all keys, here as elsewhere.
TEST_F(Mapping, ShapeOnlyLengthsHideNothing) {
  const Context context = make_npu_context();
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.causal = HEED_CAUSAL_TOP_LEFT;
  const Layer layer = capi_test::make_dot_product(context.get(), options);
  const Tensor tokens = capi_test::make_shape_only(context.get(), {1, 100'000, 16}, HEED_F16);
  const Tensor lens = capi_test::make_shape_only(context.get(), {1}, HEED_I64);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.queries = tokens.get();
  inputs.valid_lens = lens.get();
  outputs.output = tokens.get();
  EXPECT_EQ(explain(layer.get(), inputs, outputs)["not_fastest"].size(), 0u);
}

TEST_F(Mapping, F32IsRefusedUnlessItMayBeNarrowed) {
  heed_context_options options = npu_options();
  options.allow_reduced_precision = 0;
  options.strict = 0;
  const Context context = capi_test::make_context(&options);
  const DotProduct attention(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT, 5, 5, 16, HEED_F32);
  const capi_test::Refusal refusal = {HEED_ERROR_UNSUPPORTED,
                                      {"F32", "expected F16 or BF16", "allow_reduced_precision"}};
  EXPECT_TRUE(is_refused(attention.forward(), refusal));
  const Attention layer(context.get(), HEED_F32);
  EXPECT_TRUE(is_refused(layer.forward(), refusal));
  EXPECT_TRUE(
      is_refused(heed_matmul(attention.queries.get(), capi_test::make_transposed(attention.keys.get(), {0, 2, 1}).get(),
                             make_tensor(context.get(), {2, 5, 5}).get()),
                 refusal));
  // A bias in F32 is refused too: it is added to scores in the inputs' dtype.
  DotProduct biased(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
  const Tensor bias = make_tensor(context.get(), {5, 5});
  biased.inputs.bias = bias.get();
  EXPECT_TRUE(is_refused(biased.forward(), {HEED_ERROR_UNSUPPORTED, {"bias is F32", "allow_reduced_precision"}}));
  // A softmax is computed in f32 on the NPU too.
  property::check(heed_softmax(attention.queries.get(), -1, attention.output.get()));
}

}  // namespace
}  // namespace heed::ascend_test
