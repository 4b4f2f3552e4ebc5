// SPDX-License-Identifier: Apache-2.0
// Arguments that exceed a limit by one, or just meet it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/dlpack_lender.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"
#include "support/platform/files.h"

namespace heed::capi_test {
namespace {

TEST(Bounds, OneElementNeedsAPointer) {
  const Context context = make_context();
  const Tensor byte = make_tensor(context.get(), {1}, HEED_U8);
  const Tensor none = make_tensor(context.get(), {0}, HEED_U8);
  expect_refused({
      {"one dim",
       [&](OutParameters& out) { return heed_tensor_create(context.get(), HEED_U8, 1, nullptr, &out.tensor); },
       invalid({"dims is NULL"})},
      {"one byte to write", [&](OutParameters&) { return heed_tensor_write(byte.get(), nullptr, 1); },
       invalid({"source is NULL"})},
      {"one byte to read", [&](OutParameters&) { return heed_tensor_read(byte.get(), nullptr, 1); },
       invalid({"destination is NULL"})},
  });
  EXPECT_EQ(heed_tensor_write(none.get(), nullptr, 0), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_tensor_read(none.get(), nullptr, 0), HEED_OK) << heed_last_error();
}

TEST(Bounds, AWindowOfOneIsAWindow) {
  const Context context = make_context();
  const auto create = [&](int64_t left, int64_t right) {
    return [&context, left, right](OutParameters& out) {
      heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
      options.window_left = left;
      options.window_right = right;
      return heed_dot_product_attention_create(context.get(), &options, &out.layer);
    };
  };
  expect_refused({
      {"left", create(1, 0), invalid({"window_left is 1"})},
      {"right", create(0, 1), invalid({"window_right 1"})},
  });
}

TEST(Bounds, EveryLengthIsChecked) {
  for (size_t wrong = 0; wrong < 2; ++wrong) {
    for (const int32_t length : {-1, 6}) {
      AttentionCall call(Kind::MultiHead);
      std::vector<int32_t> lengths = {0, 5};
      lengths[wrong] = length;
      call.inputs.valid_lens = call.tensor_of<int32_t>({2}, lengths);
      EXPECT_TRUE(is_refused(call.forward(),
                             invalid({"valid_lens[" + std::to_string(wrong) + "] is " + std::to_string(length)})));
    }
  }
}

TEST(Bounds, DropoutCountsUpToTwoToThe32) {
  const Context context = make_context();
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.dropout = 0.5f;
  const Layer layer = make_dot_product(context.get(), options);
  for (const int64_t more : {0, 1}) {
    const Tensor queries = make_shape_only(context.get(), {1, (int64_t{1} << 32) + more, 1});
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    inputs.training = 1;
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = queries.get();
    size_t num_bytes = 0;
    const heed_status status = heed_layer_workspace_size(layer.get(), &inputs, &outputs, &num_bytes);
    if (more == 0) {
      EXPECT_EQ(status, HEED_OK) << heed_last_error();
    } else {
      EXPECT_TRUE(is_refused(status, {HEED_ERROR_UNSUPPORTED, {"4294967297", "2^32"}}));
    }
  }
}

TEST(Bounds, BooleansBecomeZeroAndOne) {
  const Context context = make_context();
  const Tensor booleans = make_tensor_of<uint8_t>(context.get(), {3}, {0, 1, 255}, HEED_BOOL);
  EXPECT_EQ(read_floats(context.get(), booleans.get()), (std::vector<float>{0, 1, 1}));
}

TEST(Bounds, ABrokenLinkIsNotReplaced) {
  const AttentionCall call(Kind::MultiHead);
  const TemporaryFolder folder;
  const std::string link = folder.path("link");
  ASSERT_TRUE(make_link("nowhere", link.c_str()));
  EXPECT_TRUE(is_refused(heed_layer_save(call.layer.get(), link.c_str()), {HEED_ERROR_IO, {"link"}}));
  EXPECT_EQ(folder.file_names(), std::vector<std::string>{"link"});
}

TEST(Bounds, DevicesOfDlpackAreNamedIfTheyHaveNames) {
  const Context context = make_context();
  for (const auto& [type, name] : std::vector<std::pair<int32_t, std::string>>{
           {-1, "-1"}, {0, "0"}, {2, "kDLCUDA (2)"}, {5, "5"}, {17, "kDLMAIA (17)"}, {18, "18"}}) {
    DlpackLender lender({3});
    std::memcpy(&lender.managed.dl_tensor.device.device_type, &type, sizeof type);
    OutParameters out;
    EXPECT_TRUE(is_refused(heed_tensor_from_dlpack(context.get(), &lender.managed, &out.tensor),
                           invalid({"device is " + name + " with index 0,"})));
  }
}

TEST(Bounds, OneSizeOfDlpackNeedsAShape) {
  const Context context = make_context();
  DlpackLender lender({3});
  lender.managed.dl_tensor.shape = nullptr;
  OutParameters out;
  EXPECT_TRUE(is_refused(heed_tensor_from_dlpack(context.get(), &lender.managed, &out.tensor),
                         invalid({"shape is NULL, expected 1 sizes"})));
}

TEST(Bounds, AnIntervalOfOneNumberIsAccepted) {
  const Context context = make_context();
  const Tensor tensor = make_tensor(context.get(), {4}, HEED_I8);
  ASSERT_EQ(heed_tensor_fill_uniform(tensor.get(), 3, 4, 42), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_elements<int8_t>(tensor.get()), std::vector<int8_t>(4, 3));
}

TEST(Bounds, AnAxisOfOneMayBeWrittenWhateverItsStride) {
  const Context context = make_context();
  float memory[3] = {0, 0, 0};
  for (const int64_t stride : {-1, 0}) {
    const Tensor tensor = wrap(context.get(), {3}, {stride}, memory + 2);
    const Tensor one = make_slice(tensor.get(), 0, 0, 1);
    EXPECT_EQ(heed_tensor_fill(one.get(), 5), HEED_OK) << heed_last_error();
    EXPECT_EQ(memory[2], 5);
  }
}

}  // namespace
}  // namespace heed::capi_test
