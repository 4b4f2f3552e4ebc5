// SPDX-License-Identifier: Apache-2.0
// Linear layers: parameters, inputs of any rank, and what explain says of them.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "capi/support/objects.h"

namespace heed::capi_test {
namespace {

heed_linear_options outputs_of(int64_t output_size, bool no_bias = false) {
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = output_size;
  options.no_bias = no_bias ? 1 : 0;
  return options;
}

TEST(Linear, IsTheProductWithTheWeightAndTheBias) {
  const Context context = make_context();
  const Layer layer = make_linear(context.get(), outputs_of(2));
  EXPECT_EQ(heed_layer_parameter_count(layer.get()), 2);
  EXPECT_STREQ(heed_layer_parameter_name(layer.get(), 0), "weight");
  EXPECT_STREQ(heed_layer_parameter_name(layer.get(), 1), "bias");
  EXPECT_EQ(heed_layer_is_initialized(layer.get()), 0);
  const Tensor weight = make_tensor_of<float>(context.get(), {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor bias = make_tensor_of<float>(context.get(), {2}, {10, 20});
  ASSERT_EQ(heed_layer_set_parameter(layer.get(), "weight", weight.get()), HEED_OK) << heed_last_error();
  ASSERT_EQ(heed_layer_set_parameter(layer.get(), "bias", bias.get()), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_layer_is_initialized(layer.get()), 1);

  const Tensor input = make_tensor_of<float>(context.get(), {2, 3}, {1, 0, 0, 1, 1, 1});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = input.get();
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  ASSERT_EQ(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs), HEED_OK) << heed_last_error();
  const Tensor output(outputs.output);
  ASSERT_EQ(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs), HEED_OK) << heed_last_error();
  EXPECT_EQ(dims_of(output.get()), (Dims{2, 2}));
  EXPECT_EQ(read_elements<float>(output.get()), (std::vector<float>{11, 24, 16, 35}));
}

}  // namespace
}  // namespace heed::capi_test
