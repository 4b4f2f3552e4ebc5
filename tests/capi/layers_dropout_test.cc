// SPDX-License-Identifier: Apache-2.0
// Dropout layers: what is kept, and that nothing is dropped outside of training.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "capi/support/objects.h"

namespace heed::capi_test {
namespace {

TEST(DropoutLayer, KeepsEverythingUnlessTraining) {
  const Context context = make_context();
  heed_dropout_options options = HEED_DROPOUT_OPTIONS_INIT;
  options.dropout = 0.5F;
  const Layer layer = make_dropout(context.get(), options);
  EXPECT_EQ(heed_layer_parameter_count(layer.get()), 0);
  EXPECT_EQ(heed_layer_is_initialized(layer.get()), 1);
  const std::vector<float> elements(1000, 3.0F);
  const Tensor input = make_tensor_of<float>(context.get(), {10, 100}, elements);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = input.get();
  const Tensor output = make_tensor(context.get(), {10, 100});
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.get();
  ASSERT_EQ(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_elements<float>(output.get()), elements);

  inputs.training = 1;
  ASSERT_EQ(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs), HEED_OK) << heed_last_error();
  int64_t num_kept = 0;
  for (const float element : read_elements<float>(output.get())) {
    EXPECT_TRUE(element == 0.0F || element == 6.0F) << element;
    num_kept += element != 0.0F ? 1 : 0;
  }
  // Six standard deviations of a binomial count.
  EXPECT_NEAR(static_cast<double>(num_kept), 500, 95);
}

}  // namespace
}  // namespace heed::capi_test
