// SPDX-License-Identifier: Apache-2.0
#include "capi/support/wrong_call.h"

#include <string>

namespace heed::capi_test {
namespace {

void expect_status(bool must_refuse, const char* function, heed_status returned, const Refusal& expected) {
  SCOPED_TRACE(function);
  if (must_refuse) {
    EXPECT_TRUE(is_refused(returned, expected));
  } else {
    EXPECT_EQ(returned, HEED_OK) << heed_last_error();
  }
}

void ask_every_function(const AttentionCall& call, Reach reach, const Refusal& expected) {
  heed_layer* const layer = call.layer.get();
  OutParameters out;
  forget_last_error();
  expect_status(true, "forward", heed_layer_forward(layer, &call.inputs, nullptr, &call.outputs), expected);
  expect_status(reach <= Reach::Lengths, "explain",
                heed_layer_explain(layer, &call.inputs, &call.outputs, nullptr, 0, &out.num_bytes), expected);
  if (reach <= Reach::Lengths) {
    EXPECT_TRUE(out == OutParameters()) << "explain changed num_bytes";
  }
  expect_status(reach <= Reach::Call, "workspace_size",
                heed_layer_workspace_size(layer, &call.inputs, &call.outputs, &out.num_bytes), expected);
  if (reach <= Reach::Call) {
    EXPECT_TRUE(out == OutParameters()) << "workspace_size changed num_bytes";
  }
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  expect_status(reach <= Reach::Parameters, "create_outputs",
                heed_layer_create_outputs(layer, &call.inputs, HEED_WANT_OUTPUT, &made), expected);
  if (reach <= Reach::Parameters) {
    EXPECT_EQ(made.output, nullptr);
  }
  heed_tensor_destroy(made.output);
  // Last, since it changes the layer if it succeeds.
  const int32_t was_initialized = heed_layer_is_initialized(layer);
  expect_status(reach <= Reach::Inputs, "initialize", heed_layer_initialize(layer, &call.inputs, 5), expected);
  if (reach <= Reach::Inputs) {
    EXPECT_EQ(heed_layer_is_initialized(layer), was_initialized);
  }
}

}  // namespace

void expect_refused(Kind kind, Reach reach, const std::vector<WrongCall>& calls) {
  for (const WrongCall& row : calls) {
    SCOPED_TRACE(row.what);
    AttentionCall call(kind);
    ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
    const heed_layer_outputs right_outputs = call.outputs;
    const std::vector<uint8_t> before = call.read_outputs();
    row.change(call);
    ask_every_function(call, reach, row.expected);
    call.outputs = right_outputs;
    EXPECT_EQ(call.read_outputs(), before) << "an output was written";
  }
}

}  // namespace heed::capi_test
