// SPDX-License-Identifier: Apache-2.0
// Which calls have a backward, which saved arrays are theirs, and what a backward leaves out.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/objects.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

using Saved = std::unique_ptr<heed_saved, property::Destroyer<heed_saved_destroy>>;

constexpr int64_t kHiddens = 8;
const Dims kRows = {2, 5, kHiddens};

// A backward of a layer over rows of shape (2, 5, 8), whose output has the same shape.
struct BackwardCall {
  Context context = make_context();
  Layer layer;
  Tensor rows = make_random(context.get(), kRows, 1);
  Tensor of_output = make_random(context.get(), kRows, 2);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_layer_gradients wanted = HEED_LAYER_GRADIENTS_INIT;
  Gradients gradients;
  Saved saved;
  std::vector<Tensor> kept;

  BackwardCall() {
    inputs.queries = rows.get();
    wanted.output = of_output.get();
  }
  heed_tensor* keep(Tensor tensor) {
    kept.push_back(std::move(tensor));
    return kept.back().get();
  }
  heed_tensor* random(const Dims& dims, heed_dtype dtype = HEED_F32) {
    return keep(make_random(context.get(), dims, 3 + kept.size(), dtype));
  }
  heed_tensor* whole(const Dims& dims, const std::vector<int32_t>& elements) {
    return keep(make_tensor_of(context.get(), dims, elements, HEED_I32));
  }
  void use_dot_product() { layer = make_dot_product(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT); }
  void use(Layer made) {
    layer = std::move(made);
    check(heed_layer_initialize(layer.get(), &inputs, 1));
  }
  void use_multi_head() { use(make_multi_head(context.get(), two_heads())); }
  void want_parameters() {
    gradients = make_gradients(layer.get());
    wanted.parameters = gradients.get();
  }
  // Makes saved arrays, with room for larger calls too, and fills them.
  void save() {
    size_t num_bytes = 0;
    check(heed_layer_saved_size(layer.get(), &inputs, &num_bytes));
    heed_saved* made = nullptr;
    check(heed_saved_create(context.get(), 4 * num_bytes, &made));
    saved.reset(made);
    outputs.saved = made;
    outputs.output = random(kRows);
    check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    outputs.output = nullptr;
  }
  heed_status run() { return heed_layer_backward(layer.get(), &inputs, &outputs, nullptr, &wanted); }
  heed_status explain(std::string& text) {
    size_t num_bytes = 0;
    const heed_status status =
        heed_layer_explain_backward(layer.get(), &inputs, &outputs, &wanted, nullptr, 0, &num_bytes);
    if (status != HEED_OK) return status;
    text.resize(num_bytes);
    return heed_layer_explain_backward(layer.get(), &inputs, &outputs, &wanted, text.data(), text.size(), nullptr);
  }
};

TEST(BackwardCalls, NeedInputsThatHaveElements) {
  BackwardCall call;
  call.use_multi_head();
  call.want_parameters();
  call.inputs.queries = call.keep(make_shape_only(call.context.get(), kRows));
  EXPECT_TRUE(is_refused(call.run(), invalid({"queries"})));
  call.inputs.queries = call.rows.get();
  call.inputs.valid_lens = call.keep(make_shape_only(call.context.get(), {2}, HEED_I32));
  EXPECT_TRUE(is_refused(call.run(), invalid({"valid_lens"})));
  // The size and the explanation need none.
  call.inputs.queries = call.kept.front().get();
  size_t num_bytes = 0;
  EXPECT_EQ(heed_layer_backward_workspace_size(call.layer.get(), &call.inputs, nullptr, &call.wanted, &num_bytes),
            HEED_OK);
  std::string text;
  EXPECT_EQ(call.explain(text), HEED_OK);
}

TEST(BackwardCalls, ThatNothingIsWantedOfComputeNothing) {
  BackwardCall call;
  call.use_dot_product();
  EXPECT_EQ(call.run(), HEED_OK);
  std::string text;
  ASSERT_EQ(call.explain(text), HEED_OK);
  EXPECT_EQ(text.find("\"operation\": \""), std::string::npos) << text;
}

TEST(BackwardCalls, NeedInputsInF32) {
  const auto refused = [](const char* name) {
    return Refusal{HEED_ERROR_UNSUPPORTED, {name, "BF16", "training computes in F32"}};
  };
  {
    BackwardCall call;
    call.use_multi_head();
    call.inputs.keys = call.random(kRows, HEED_BF16);
    EXPECT_TRUE(is_refused(call.run(), refused("keys")));
    size_t num_bytes = 0;
    EXPECT_TRUE(is_refused(heed_layer_saved_size(call.layer.get(), &call.inputs, &num_bytes), refused("keys")));
    call.inputs.keys = call.rows.get();
    call.inputs.values = call.random(kRows, HEED_BF16);
    EXPECT_TRUE(is_refused(call.run(), refused("values")));
  }
  BackwardCall call;
  call.inputs.keys = call.rows.get();
  call.use(make_transformer(call.context.get(), BlockOptions().transformer));
  call.inputs.keys = nullptr;
  heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
  call.inputs.decoder = &decoder;
  decoder.memory = call.random(kRows, HEED_BF16);
  EXPECT_TRUE(is_refused(call.run(), refused("decoder->memory")));
}

TEST(BackwardCalls, RefuseInputsInTheMemoryOfGradientsOfParameters) {
  BackwardCall call;
  call.use_multi_head();
  call.want_parameters();
  const Tensor of_weight = gradient_of(call.gradients.get(), "W_q.weight");
  const Tensor rows = make_view(of_weight.get(), {1, 8, kHiddens}, {}, 0);
  call.inputs.queries = rows.get();
  call.wanted.output = call.random({1, 8, kHiddens});
  EXPECT_TRUE(is_refused(call.run(), invalid({"queries", "gradients->parameters", "separate memory"})));
  call.inputs.queries = call.random({1, 8, kHiddens});
  call.wanted.output = rows.get();
  EXPECT_TRUE(is_refused(call.run(), invalid({"gradients->output", "gradients->parameters", "separate memory"})));
}

TEST(BackwardCalls, HaveAWorkspaceSizeWithAMaskAndAGradientOfTheBias) {
  BackwardCall call;
  call.use_multi_head();
  call.inputs.bias = call.random({1, 1, 5, 5});
  call.wanted.bias = call.random({1, 1, 5, 5});
  call.inputs.attention_mask = call.whole({2, 5}, {1, 1, 1, 0, 0, 1, 1, 1, 1, 1});
  size_t num_bytes = 0;
  ASSERT_EQ(heed_layer_backward_workspace_size(call.layer.get(), &call.inputs, nullptr, &call.wanted, &num_bytes),
            HEED_OK);
  const Workspace workspace = make_workspace(call.context.get(), num_bytes);
  EXPECT_EQ(heed_layer_backward(call.layer.get(), &call.inputs, nullptr, workspace.get(), &call.wanted), HEED_OK);
  call.inputs.attention_mask = call.whole({2, 5}, {1, 0, 1, 1, 0, 1, 1, 1, 1, 1});
  EXPECT_TRUE(is_refused(call.run(), {HEED_ERROR_UNSUPPORTED, {"gradients->bias", "attention_mask"}}));
}

class SavedCalls : public testing::TestWithParam<void (*)(BackwardCall&)> {};

// Each of them changes what the forward has computed with the same rows.
TEST_P(SavedCalls, OfOtherInputsAreRefused) {
  BackwardCall call;
  call.use_multi_head();
  call.inputs.valid_lens = call.whole({2}, {3, 5});
  call.save();
  ASSERT_EQ(call.run(), HEED_OK);
  GetParam()(call);
  EXPECT_TRUE(is_refused(call.run(), invalid({"saved", "whose inputs differ"})));
}

INSTANTIATE_TEST_SUITE_P(All, SavedCalls,
                         testing::Values(
                             [](BackwardCall& call) {
                               call.inputs.valid_lens = call.whole({2}, {4, 5});
                             },
                             [](BackwardCall& call) { call.inputs.valid_lens = nullptr; },
                             [](BackwardCall& call) { call.inputs.keys = call.rows.get(); },
                             [](BackwardCall& call) {
                               call.inputs.valid_lens = nullptr;
                               call.inputs.attention_mask = call.whole({2, 5}, {1, 1, 1, 0, 0, 1, 1, 1, 1, 1});
                             },
                             [](BackwardCall& call) {
                               call.inputs.valid_lens = nullptr;
                               call.inputs.queries = call.random({2, 4, kHiddens});
                               call.wanted.output = call.random({2, 4, kHiddens});
                             }));

TEST(BackwardCalls, RefuseArraysThatALayerInTheSamePlaceHasSaved) {
  BackwardCall call;
  call.use_multi_head();
  call.save();
  ASSERT_EQ(call.run(), HEED_OK);
  call.layer.reset();
  call.use_multi_head();
  EXPECT_TRUE(is_refused(call.run(), invalid({"saved", "of another layer"})));
}

// The output of a forward that is computed again, such as the logits of a model, is not.
TEST(BackwardCalls, TakeNoWorkspaceForArraysThatNobodyReads) {
  BackwardCall call;
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = 20000;
  call.use(make_linear(call.context.get(), options));
  const Dims logits = {2, 5, options.output_size};
  call.wanted.output = call.random(logits);
  call.wanted.queries = call.random(kRows);
  size_t num_bytes = 0;
  ASSERT_EQ(heed_layer_backward_workspace_size(call.layer.get(), &call.inputs, nullptr, &call.wanted, &num_bytes),
            HEED_OK);
  EXPECT_LT(num_bytes, heed_tensor_num_bytes(call.wanted.output));
  const Workspace workspace = make_workspace(call.context.get(), num_bytes);
  EXPECT_EQ(heed_layer_backward(call.layer.get(), &call.inputs, nullptr, workspace.get(), &call.wanted), HEED_OK);
}

TEST(BackwardCalls, OfTheLastNormAloneComputeNoOtherGradient) {
  BackwardCall call;
  call.use(make_encoder_layer(call.context.get(), BlockOptions().encoder_layer));
  check(heed_layer_set_trainable(call.layer.get(), nullptr, 0));
  check(heed_layer_set_trainable(call.layer.get(), "norm_2", 1));
  call.want_parameters();
  call.save();
  std::string text;
  ASSERT_EQ(call.explain(text), HEED_OK);
  EXPECT_NE(text.find("norm_2"), std::string::npos) << text;
  for (const char* const other : {"feed_forward", "self_attention", "norm_1"})
    EXPECT_EQ(text.find(other), std::string::npos) << text;
}

}  // namespace
}  // namespace heed::capi_test
