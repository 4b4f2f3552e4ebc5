// SPDX-License-Identifier: Apache-2.0
// Dropout layers: which elements are kept, and that nothing is dropped outside of training.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"

namespace heed::capi_test {
namespace {

TEST(DropoutLayer, KeepsEverythingUnlessTraining) {
  const Context context = make_context();
  const Layer layer = make_dropout(context.get(), one_half());
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
  // Six standard deviations of a binomial distribution.
  EXPECT_NEAR(static_cast<double>(num_kept), 500, 95);
}

TEST(DropoutLayer, HasNoParametersToInitializeSaveOrLoad) {
  const TemporaryFolder folder;
  const AttentionCall call(Kind::Dropout);
  EXPECT_EQ(heed_layer_initialize(call.layer.get(), &call.inputs, 1), HEED_OK) << heed_last_error();
  const std::string path = folder.path("dropout.safetensors");
  ASSERT_EQ(heed_layer_save(call.layer.get(), path.c_str()), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_layer_load(call.layer.get(), path.c_str(), nullptr), HEED_OK) << heed_last_error();
  heed_tensor* none = nullptr;
  EXPECT_EQ(heed_layer_parameter(call.layer.get(), "weight", &none), HEED_ERROR_NOT_FOUND);
}

TEST(DropoutLayer, GivesOutputsTheDimsOfTheQueries) {
  AttentionCall call(Kind::Dropout);
  for (const Dims& dims : {Dims{7}, Dims{0}, Dims{3, 0, 2}, Dims{1, 2, 3, 1, 2, 3, 1, 2}}) {
    call.inputs.queries = call.shape_only(dims, HEED_F16);
    heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
    ASSERT_EQ(heed_layer_create_outputs(call.layer.get(), &call.inputs, HEED_WANT_OUTPUT, &made), HEED_OK);
    const Tensor output(made.output);
    EXPECT_EQ(dims_of(output.get()), dims);
    EXPECT_EQ(heed_tensor_dtype(output.get()), HEED_F16);
  }
}

}  // namespace
}  // namespace heed::capi_test
