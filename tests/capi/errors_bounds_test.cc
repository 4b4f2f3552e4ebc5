// SPDX-License-Identifier: Apache-2.0
// Arguments that exceed a limit by one, or just meet it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
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

TEST(Options, TheirLimitsAreAccepted) {
  const Context context = make_context();
  heed_multi_head_attention_options options = two_heads();
  options.dropout = std::nextafter(1.0f, 0.0f);
  options.scale = -std::numeric_limits<float>::max();
  options.soft_cap = std::numeric_limits<float>::denorm_min();
  options.window_left = -1;  // unlimited, with or without a window
  options.window_right = INT64_MIN;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
  heed_dropout_options dropout = one_half();
  dropout.dropout = std::nextafter(1.0f, 0.0f);
  EXPECT_NO_THROW(make_dropout(context.get(), dropout));
  heed_linear_options linear = five_outputs();
  linear.output_size = INT64_MAX;
  EXPECT_NO_THROW(make_linear(context.get(), linear));
  options.window = HEED_WINDOW_BOTTOM_RIGHT;
  options.window_left = INT64_MAX;
  options.window_right = INT64_MAX;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
}

TEST(Options, NoneAreTheMacrosValues) {
  const Context context = make_context();
  heed_context* second = nullptr;
  EXPECT_EQ(heed_context_create(nullptr, &second), HEED_OK);
  heed_context_destroy(second);
  heed_layer* layer = nullptr;
  ASSERT_EQ(heed_dot_product_attention_create(context.get(), nullptr, &layer), HEED_OK);
  EXPECT_EQ(heed_layer_is_initialized(layer), 1);
  EXPECT_EQ(heed_layer_parameter_count(layer), 0);
  heed_layer_destroy(layer);
  ASSERT_EQ(heed_dropout_create(context.get(), nullptr, &layer), HEED_OK);
  EXPECT_EQ(heed_layer_is_initialized(layer), 1);
  EXPECT_EQ(heed_layer_parameter_count(layer), 0);
  heed_layer_destroy(layer);
}

TEST(Options, LimitsOfPositionsAreAccepted) {
  const Context context = make_context();
  const float factors[] = {1, 2};
  heed_rope_options rope = whole_heads();
  heed_multi_head_attention_options options = two_heads();
  options.rope = &rope;
  rope.rotary_offset = 2;
  EXPECT_NO_THROW(make_multi_head(context.get(), options)) << "one pair at the end of a head";
  rope.rotary_offset = 1;
  rope.rotary_size = 2;
  rope.layout = HEED_ROPE_INTERLEAVED;
  EXPECT_NO_THROW(make_multi_head(context.get(), options)) << "one pair in the middle of a head";
  // Factors below 1 compress. With an attention_factor, FACTORS needs no other number.
  rope = whole_heads();
  rope.scaling = HEED_ROPE_SCALING_LINEAR;
  rope.factor = 0.5f;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
  rope = whole_heads();
  rope.scaling = HEED_ROPE_SCALING_FACTORS;
  rope.num_factors = 2;
  rope.factors = factors;
  rope.attention_factor = 1;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
  options.rope = nullptr;
  options.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
  options.relative_bias_buckets = 4;
  options.relative_bias_max_distance = 2;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
  options.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
  options.relative_bias_buckets = 2;
  options.relative_bias_max_distance = int64_t{1} << 20;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
  heed_positional_encoding_options positions = ten_positions();
  positions.max_positions = INT32_MAX;
  positions.first_row = INT32_MAX;
  EXPECT_NO_THROW(make_positional_encoding(context.get(), positions)) << "a table is allocated when it is set";
  positions = ten_positions();
  positions.kind = HEED_POSITIONS_SINUSOIDAL;
  positions.size = 7;
  EXPECT_NO_THROW(make_positional_encoding(context.get(), positions)) << "an odd number of elements in turn";
}

// The largest position is accepted.
TEST(Sequences, TheLargestPositionIsAccepted) {
  for (const Kind kind : kKinds) {
    AttentionCall call(kind);
    call.sequences().positions = call.tensor_of<int64_t>({2, 3}, {INT32_MAX, 0, 1, 2, 3, INT32_MAX});
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  }
}

TEST(Sequences, AStructWithoutTensorsIsAccepted) {
  for (const Kind kind : kKindsOfOneInput) {
    AttentionCall call(kind);
    call.sequences();
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  }
  for (const Kind kind : {Kind::EncoderLayer, Kind::Encoder}) {
    AttentionCall call(kind);
    heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
    call.inputs.decoder = &decoder;
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  }
}

TEST(Blocks, ADecoderWithoutCrossAttentionNeedsNoKeys) {
  AttentionCall call(Kind::Decoder);
  BlockOptions blocks;
  blocks.decoder_layer.cross_attention = nullptr;
  call.layer = make_decoder(call.context.get(), blocks.decoder);
  call.inputs.keys = nullptr;
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
}

TEST(Blocks, ImagesOfTheSizeOfTheOptionsAreAccepted) {
  const Context context = make_context();
  heed_patch_embedding_options options = six_pixels();
  options.image_height = 4;
  options.image_width = 9;
  heed_layer* made = nullptr;
  check(heed_patch_embedding_create(context.get(), &options, &made));
  const Layer layer(made);
  const Tensor queries = make_tensor(context.get(), {2, 3, 4, 9});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  EXPECT_EQ(heed_layer_initialize(layer.get(), &inputs, 1), HEED_OK) << heed_last_error();
}

TEST(Operations, InterleavedMemoryIsSeparate) {
  const Context context = make_context();
  const Tensor storage = make_tensor_of<float>(context.get(), {2, 4}, std::vector<float>(8, 1));
  const Tensor ones = make_tensor_of<float>(context.get(), {2, 2}, std::vector<float>(4, 1));
  const Tensor left = make_slice(storage.get(), 1, 0, 2);
  const Tensor right = make_slice(storage.get(), 1, 2, 2);
  EXPECT_EQ(heed_matmul(left.get(), ones.get(), right.get()), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_elements<float>(storage.get()), (std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2}));
}

TEST(ParameterErrors, InitializeThatRunsOutOfMemoryChangesNothing) {
  AttentionCall call(Kind::MultiHead);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> before = call.read_outputs();
  heed_layer_inputs huge = HEED_LAYER_INPUTS_INIT;
  huge.queries = call.inputs.queries;
  huge.keys = call.shape_only({2, 5, int64_t{1} << 44});
  EXPECT_TRUE(is_refused(heed_layer_initialize(call.layer.get(), &huge, 7), {HEED_ERROR_OUT_OF_MEMORY, {"bytes"}}));
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), before);

  huge.keys = call.shape_only({0, 5, INT64_MAX / 20});
  huge.queries = call.zeros({0, 3, 6});
  EXPECT_TRUE(is_refused(heed_layer_initialize(call.layer.get(), &huge, 7),
                         invalid({"W_k.weight would have dims", ", whose ", " overflows, expected at most 2^63 - 1"})));

  // A weight of one output, which takes a whole vector when it is packed.
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = 1;
  const Layer linear = make_linear(call.context.get(), options);
  heed_layer_inputs wide = HEED_LAYER_INPUTS_INIT;
  wide.queries = call.shape_only({1, 1, INT64_MAX / 8});
  EXPECT_TRUE(is_refused(heed_layer_initialize(linear.get(), &wide, 7),
                         invalid({"weight would have dims (1, 1152921504606846975), whose packed form overflows"})));
}

}  // namespace
}  // namespace heed::capi_test
