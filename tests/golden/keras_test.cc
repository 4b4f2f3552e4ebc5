// SPDX-License-Identifier: Apache-2.0
// keras.layers.MultiHeadAttention: its kernels are (in, out) with an axis for the heads, and become heed's parameters
// by views alone. make_keras.py generates the file.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <string>

#include "golden/support/golden_file.h"

namespace heed::golden {
namespace {

TEST(Keras, KernelsAreTransposedViewsOfHeedsParameters) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), "keras");
    heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
    options.num_heads = 2;
    options.head_size = 3;
    options.value_head_size = 4;
    options.output_size = 8;
    options.biases = HEED_BIAS_ALL;
    options.causal = HEED_CAUSAL_TOP_LEFT;
    const Layer layer = capi_test::make_multi_head(context.get(), options);

    const auto set = [&](const char* name, const std::string& keras_name, const Dims& in_out) {
      const Tensor kernel = file.load((keras_name + "/kernel").c_str());
      const Tensor matrix = capi_test::make_reshaped(kernel.get(), in_out);
      const Tensor weight = capi_test::make_transposed(matrix.get(), {1, 0});
      check(heed_layer_set_parameter(layer.get(), (std::string(name) + ".weight").c_str(), weight.get()));
      const Tensor keras_bias = file.load((keras_name + "/bias").c_str());
      const Tensor bias = capi_test::make_reshaped(keras_bias.get(), {-1});
      check(heed_layer_set_parameter(layer.get(), (std::string(name) + ".bias").c_str(), bias.get()));
    };
    // (in, heads * head size), and (heads * head size, out) for the output.
    set("W_q", "query", {5, 6});
    set("W_k", "key", {6, 6});
    set("W_v", "value", {7, 8});
    set("W_o", "attention_output", {8, 8});

    const Tensor queries = file.load("query");
    const Tensor keys = file.load("key");
    const Tensor values = file.load("value");
    const Tensor attention_mask = file.load("attention_mask");
    const Tensor mask = capi_test::make_reshaped(attention_mask.get(), {2, 1, 4, 6});
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    inputs.keys = keys.get();
    inputs.values = values.get();
    inputs.mask = mask.get();
    file.expect(forward(layer.get(), inputs), derive(layer.get(), options, inputs));
  });
}

}  // namespace
}  // namespace heed::golden
