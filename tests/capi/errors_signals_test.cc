// SPDX-License-Identifier: Apache-2.0
// Embeddings of images and of audio, and encoders with them, with invalid options or inputs.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

TEST(SignalErrors, OptionsOfPatches) {
  const Context context = make_context();
  const struct {
    std::function<void(heed_patch_embedding_options&)> change;
    const char* sentence;
  } table[] = {
      {[](auto& o) { o.patch_height = 0; }, "options->patch_height is 0, expected at least 1"},
      {[](auto& o) { o.patch_width = -1; }, "options->patch_width is -1, expected at least 1"},
      {[](auto& o) { o.num_channels = 0; }, "options->num_channels is 0"},
      {[](auto& o) { o.size = 0; }, "options->size is 0"},
      {[](auto& o) { o.patch_height = o.patch_width = int64_t{1} << 32; }, "expected a product below 2^63"},
      {[](auto& o) { o.class_token = 2; }, "options->class_token is 2"},
      {[](auto& o) { o.no_bias = -1; }, "options->no_bias is -1"},
      {[](auto& o) { o.image_height = 5; },
       "options->image_height is 5, expected a multiple of options->patch_height, 2"},
      {[](auto& o) { o.image_height = -2; }, "options->image_height is -2"},
      {[](auto& o) {
         o.image_height = 4;
         o.image_width = 4;
       },
       "options->image_width is 4, expected a multiple of options->patch_width, 3"},
      {[](auto& o) { o.image_height = 4; },
       "options->image_width is 4, expected a multiple of options->patch_width, 3"},
      {[](auto& o) { o.image_width = 3; }, "options->image_width is 3, but options->image_height is 0"},
  };
  for (const auto& row : table) {
    heed_patch_embedding_options options = six_pixels();
    row.change(options);
    expect_refused(
        {{row.sentence,
          [&](OutParameters& out) { return heed_patch_embedding_create(context.get(), &options, &out.layer); },
          invalid({row.sentence})}});
  }
}

TEST(SignalErrors, OptionsOfAudio) {
  const Context context = make_context();
  for (const auto& [member, name] : {std::pair{&heed_audio_embedding_options::num_mels, "options->num_mels is "},
                                     {&heed_audio_embedding_options::size, "options->size is "}}) {
    for (const int64_t wrong : {int64_t{0}, int64_t{-1}, INT64_MAX / 3 + 1}) {
      heed_audio_embedding_options options = four_mels();
      options.*member = wrong;
      expect_refused(
          {{name, [&](OutParameters& out) { return heed_audio_embedding_create(context.get(), &options, &out.layer); },
            invalid({name + std::to_string(wrong) + ", expected 1 to 3074457345618258602"})}});
    }
  }
}

// What reads the input of an encoder, and where the encoder's layers get their rows from.
struct Signals {
  heed_patch_embedding_options patches = six_pixels();
  heed_audio_embedding_options audio = four_mels();
  heed_embedding_options embedding = ten_rows();
  heed_positional_encoding_options positions = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
};

TEST(SignalErrors, OptionsOfEncoders) {
  const Context context = make_context();
  const struct {
    std::function<void(heed_encoder_options&, Signals&)> change;
    const char* sentence;
  } table[] = {
      {[](auto& o, auto& s) {
         o.patches = &s.patches;
         o.embedding = &s.embedding;
         s.embedding.embedding_size = 0;
       },
       "options->patches is set, but so is options->embedding: expected NULL for one of them"},
      {[](auto& o, auto& s) {
         o.patches = &s.patches;
         o.audio = &s.audio;
       },
       "options->audio is set, but so is options->patches"},
      {[](auto& o, auto& s) {
         o.audio = &s.audio;
         s.audio.size = 6;
       },
       "options->audio->size is 6, expected 8 or 0"},
      {[](auto& o, auto& s) {
         o.audio = &s.audio;
         s.audio.num_mels = 0;
       },
       "options->audio->num_mels is 0"},
      {[](auto& o, auto& s) {
         o.patches = &s.patches;
         s.patches.class_token = 3;
       },
       "options->patches->class_token is 3"},
  };
  for (const auto& row : table) {
    BlockOptions blocks;
    Signals signals;
    row.change(blocks.encoder, signals);
    expect_refused(
        {{row.sentence,
          [&](OutParameters& out) { return heed_encoder_create(context.get(), &blocks.encoder, &out.layer); },
          invalid({row.sentence})}});
  }
}

class SignalInputs : public testing::Test {
 protected:
  // Expects a call with queries of these dims to be refused.
  void expect(const Layer& layer, const Dims& dims, const std::string& sentence) {
    const Tensor queries = make_tensor(context_.get(), dims);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    forget_last_error();
    EXPECT_TRUE(
        is_refused(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs), invalid({sentence})));
  }

  const Context context_ = make_context();
};

TEST_F(SignalInputs, OfPatchesAreWholeImages) {
  heed_layer* made = nullptr;
  const heed_patch_embedding_options options = six_pixels();
  check(heed_patch_embedding_create(context_.get(), &options, &made));
  const Layer layer(made);
  expect(layer, {3, 4, 6}, "inputs->queries has dims (3, 4, 6), expected (B, 3, H, W)");
  expect(layer, {1, 1, 4, 6}, "inputs->queries has dims (1, 1, 4, 6), expected (B, 3, H, W)");
  expect(layer, {1, 3, 5, 6}, "inputs->queries has dims (1, 3, 5, 6), expected a height that is a multiple of 2");
  expect(layer, {1, 3, 4, 7}, "a width that is one of 3");
}

TEST_F(SignalInputs, OfPatchesHaveTheSizeOfTheOptions) {
  heed_layer* made = nullptr;
  heed_patch_embedding_options options = six_pixels();
  options.image_height = 4;
  options.image_width = 9;
  check(heed_patch_embedding_create(context_.get(), &options, &made));
  const Layer layer(made);
  const char* const kExpected = "expected (B, 3, 4, 9): the layer reads images of one size";
  expect(layer, {1, 3, 4, 6}, std::string("inputs->queries has dims (1, 3, 4, 6), ") + kExpected);
  // As many patches in another grid.
  expect(layer, {1, 3, 6, 6}, std::string("inputs->queries has dims (1, 3, 6, 6), ") + kExpected);
  expect(layer, {1, 3, 12, 3}, kExpected);
  const Tensor queries = make_tensor(context_.get(), {2, 3, 4, 9});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  check(heed_layer_initialize(layer.get(), &inputs, 1));
}

TEST_F(SignalInputs, OfAudioHaveItsFeatures) {
  heed_layer* made = nullptr;
  const heed_audio_embedding_options options = four_mels();
  check(heed_audio_embedding_create(context_.get(), &options, &made));
  const Layer layer(made);
  expect(layer, {4, 6}, "inputs->queries has dims (4, 6), expected (B, 4, T)");
  expect(layer, {1, 5, 6}, "inputs->queries has dims (1, 5, 6), expected (B, 4, T)");
}

TEST_F(SignalInputs, OfEncodersHaveAsManyPatchesAsPositions) {
  BlockOptions blocks;
  Signals signals;
  signals.positions.kind = HEED_POSITIONS_LEARNED;
  signals.positions.max_positions = 5;
  signals.patches.size = 0;
  blocks.encoder.patches = &signals.patches;
  blocks.encoder.positions = &signals.positions;
  const Layer layer = make_encoder(context_.get(), blocks.encoder);
  expect(layer, {2, 3, 4, 9}, "(2, 3, 4, 9), whose patches make 7 rows, expected 5, options->positions->max_positions");
  expect(layer, {2, 3, 2, 6}, "(2, 3, 2, 6), whose patches make 3 rows, expected 5, options->positions->max_positions");
  expect(layer, {2, 8, 8}, "inputs->queries has dims (2, 8, 8), expected (B, 3, H, W)");
  const Tensor images = make_tensor(context_.get(), {2, 3, 4, 6});
  const Tensor offsets = make_tensor_of<int32_t>(context_.get(), {3}, {0, 5, 10});
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  sequences.query_offsets = offsets.get();
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = images.get();
  inputs.sequences = &sequences;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  forget_last_error();
  EXPECT_TRUE(is_refused(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs),
                         invalid({"inputs->sequences has offsets"})));
}

}  // namespace
}  // namespace heed::capi_test
