// SPDX-License-Identifier: Apache-2.0
#include "errors/reach.h"

namespace heed::errors_test {
namespace {

using capi_test::OutParameters;

void expect_status(bool must_refuse, const char* function, heed_status returned, const capi_test::Refusal& expected) {
  SCOPED_TRACE(function);
  if (must_refuse) {
    EXPECT_TRUE(is_refused(returned, expected));
  } else {
    EXPECT_EQ(returned, HEED_OK) << heed_last_error();
  }
}

}  // namespace

void ask_every_other_function(heed_layer* layer, const heed_layer_inputs& inputs, const heed_layer_outputs& outputs,
                              Reach reach, const capi_test::Refusal& expected) {
  OutParameters out;
  capi_test::forget_last_error();
  expect_status(reach <= Reach::Lengths, "explain",
                heed_layer_explain(layer, &inputs, &outputs, nullptr, 0, &out.num_bytes), expected);
  if (reach <= Reach::Lengths) {
    EXPECT_TRUE(out == OutParameters()) << "explain changed num_bytes";
  }
  capi_test::forget_last_error();
  expect_status(reach <= Reach::Call, "workspace_size",
                heed_layer_workspace_size(layer, &inputs, &outputs, &out.num_bytes), expected);
  if (reach <= Reach::Call) {
    EXPECT_TRUE(out == OutParameters()) << "workspace_size changed num_bytes";
  }
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  capi_test::forget_last_error();
  expect_status(reach <= Reach::Parameters, "create_outputs",
                heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &made), expected);
  if (reach <= Reach::Parameters) {
    EXPECT_EQ(made.output, nullptr);
  }
  heed_tensor_destroy(made.output);
  // Last, since it changes the layer if it succeeds.
  const int32_t was_initialized = heed_layer_is_initialized(layer);
  capi_test::forget_last_error();
  expect_status(reach <= Reach::Inputs, "initialize", heed_layer_initialize(layer, &inputs, 5), expected);
  if (reach <= Reach::Inputs) {
    EXPECT_EQ(heed_layer_is_initialized(layer), was_initialized);
  }
}

}  // namespace heed::errors_test
