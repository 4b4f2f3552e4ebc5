// SPDX-License-Identifier: Apache-2.0
// Files of layers that are made of others, by heed's own names.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

Layer make_again(heed_context* context, Kind kind) {
  const BlockOptions blocks;
  if (kind == Kind::EncoderLayer) return make_encoder_layer(context, blocks.encoder_layer);
  return kind == Kind::Encoder ? make_encoder(context, blocks.encoder) : make_decoder(context, blocks.decoder);
}

TEST(BlockFiles, GiveBackWhatWasSaved) {
  const TemporaryFolder folder;
  const std::string path = folder.path("blocks.safetensors");
  for (const Kind kind : kBlocks) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      AttentionCall call(kind, {}, dtype);
      check(call.forward());
      const std::vector<uint8_t> expected = call.read_outputs();
      check(heed_layer_save(call.layer.get(), path.c_str()));
      call.layer = make_again(call.context.get(), kind);
      ASSERT_EQ(heed_layer_load(call.layer.get(), path.c_str(), nullptr), HEED_OK) << heed_last_error();
      check(call.forward());
      EXPECT_EQ(call.read_outputs(), expected);
    }
  }
}

// Options of stacks with all that can be around and in their layers.
struct EveryPart : BlockOptions {
  EveryPart() {
    ids.embedding_size = 0;
    positions.size = 0;
    encoder_layer.norm_first = encoder_layer.output_norms = 1;
    second = encoder_layer;
    second.no_first_norm = 1;
    second.output_norms = 0;
    second.residual_scale = 0.5f;
    decoder_layer.output_norms = 1;
    second_of_decoder = decoder_layer;
    second_of_decoder.no_first_norm = 1;
    encoder.layer = nullptr;
    encoder.layers = encoder_layers;
    decoder.layer = nullptr;
    decoder.layers = decoder_layers;
    encoder.positions = decoder.positions = &positions;
    encoder.embedding_norm = decoder.embedding_norm = 1;
    output.bias = 1;
    output.scale = 0.5f;
    output.soft_cap = 3;
    tied.tied = 1;
    tied.bias = 1;
  }

  heed_embedding_options ids = ten_rows();
  heed_positional_encoding_options positions = ten_positions();
  heed_encoder_layer_options second;
  heed_decoder_layer_options second_of_decoder;
  const heed_encoder_layer_options* encoder_layers[2] = {&encoder_layer, &second};
  const heed_decoder_layer_options* decoder_layers[2] = {&decoder_layer, &second_of_decoder};
  heed_output_options tied = HEED_OUTPUT_OPTIONS_INIT;
};

// Two layers with these options give the same after the second one has the file of the first one.
void expect_same_from_file(const std::function<Layer(heed_context*)>& make, bool is_transformer) {
  const TemporaryFolder folder;
  const std::string path = folder.path("stack.safetensors");
  const Context context = make_context();
  const Layer first = make(context.get());
  const Layer second = make(context.get());
  const Tensor ids = make_tensor_of<int32_t>(context.get(), {2, 3}, {3, 1, 4, 1, 5, 8});
  const Tensor source = make_tensor_of<int32_t>(context.get(), {2, 4}, {2, 7, 1, 8, 2, 8, 1, 3});
  const Tensor memory = make_random(context.get(), {2, 4, 7}, 3);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = ids.get();
  inputs.keys = is_transformer ? source.get() : memory.get();
  if (heed_layer_initialize(first.get(), &inputs, 1) != HEED_OK) {
    inputs.keys = nullptr;  // an encoder
    check(heed_layer_initialize(first.get(), &inputs, 1));
  }
  const auto run = [&](const Layer& layer) {
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
    const Tensor output(outputs.output);
    check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    return read_bytes(output.get());
  };
  check(heed_layer_save(first.get(), path.c_str()));
  ASSERT_EQ(heed_layer_load(second.get(), path.c_str(), nullptr), HEED_OK) << heed_last_error();
  EXPECT_EQ(run(second), run(first));
}

TEST(BlockFiles, OfStacksWithEverythingGiveBackWhatWasSaved) {
  {
    SCOPED_TRACE("an encoder of ids with token types, a projection and a head");
    EveryPart parts;
    parts.ids.embedding_size = 6;
    parts.encoder.embedding = &parts.ids;
    parts.encoder.num_token_types = 2;
    parts.encoder.output = &parts.output;
    expect_same_from_file([&](heed_context* context) { return make_encoder(context, parts.encoder); }, false);
  }
  {
    SCOPED_TRACE("an encoder whose layers are the same");
    EveryPart parts;
    parts.encoder.embedding = &parts.ids;
    parts.encoder.layers = nullptr;
    parts.encoder.layer = &parts.encoder_layer;
    parts.encoder.share_layers = 1;
    parts.encoder.num_layers = 3;
    expect_same_from_file([&](heed_context* context) { return make_encoder(context, parts.encoder); }, false);
  }
  for (const bool is_tied : {false, true}) {
    SCOPED_TRACE(testing::Message() << "a decoder with a head" << (is_tied ? ", tied" : ""));
    EveryPart parts;
    parts.decoder.embedding = &parts.ids;
    parts.decoder.output = is_tied ? &parts.tied : &parts.output;
    expect_same_from_file([&](heed_context* context) { return make_decoder(context, parts.decoder); }, false);
  }
  for (const bool is_tied : {false, true}) {
    SCOPED_TRACE(testing::Message() << "a Transformer with a head" << (is_tied ? ", tied" : ""));
    EveryPart parts;
    parts.transformer.embedding = &parts.ids;
    parts.transformer.output = is_tied ? &parts.tied : &parts.output;
    expect_same_from_file([&](heed_context* context) { return make_transformer(context, parts.transformer); }, true);
  }
  {
    SCOPED_TRACE("a Transformer with an embedding for each side");
    EveryPart parts;
    heed_embedding_options other = parts.ids;
    other.num_embeddings = 12;
    parts.encoder.embedding = &other;
    parts.encoder.num_token_types = 2;
    parts.decoder.embedding = &parts.ids;
    parts.decoder.output = &parts.tied;
    expect_same_from_file([&](heed_context* context) { return make_transformer(context, parts.transformer); }, true);
  }
}

// A file of a stack has each of its parts, by the part's name as the prefix.
TEST(BlockFiles, GiveEachPart) {
  const TemporaryFolder folder;
  const std::string path = folder.path("blocks.safetensors");
  const AttentionCall call(Kind::Encoder);
  check(heed_layer_save(call.layer.get(), path.c_str()));
  const BlockOptions blocks;
  const Layer layer = make_encoder_layer(call.context.get(), blocks.encoder_layer);
  ASSERT_EQ(heed_layer_load(layer.get(), path.c_str(), "layers.1"), HEED_OK) << heed_last_error();
  const Layer norm = make_layer_norm(call.context.get(), blocks.norm);
  ASSERT_EQ(heed_layer_load(norm.get(), path.c_str(), "layers.0.norm_2"), HEED_OK) << heed_last_error();
  const Layer network = make_feed_forward(call.context.get(), blocks.feed_forward);
  ASSERT_EQ(heed_layer_load(network.get(), path.c_str(), "layers.1.feed_forward"), HEED_OK) << heed_last_error();
  const auto bytes_of = [](const Layer& of, const char* name) { return read_bytes(snapshot(of.get(), name).get()); };
  const auto whole = bytes_of(call.layer, "layers.1.feed_forward.W_1.weight");
  EXPECT_EQ(bytes_of(layer, "feed_forward.W_1.weight"), whole);
  EXPECT_EQ(bytes_of(network, "W_1.weight"), whole);
  EXPECT_EQ(bytes_of(norm, "weight"), bytes_of(call.layer, "layers.0.norm_2.weight"));
}

TEST(BlockFiles, OfOtherOptionsChangeNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.path("blocks.safetensors");
  AttentionCall call(Kind::Encoder);
  check(heed_layer_save(call.layer.get(), path.c_str()));
  check(call.forward());
  const std::vector<uint8_t> before = call.read_outputs();
  const auto expect_refused_with = [&](const char* what, const Refusal& refusal, auto change) {
    SCOPED_TRACE(what);
    BlockOptions blocks;
    change(blocks);
    call.layer = make_encoder(call.context.get(), blocks.encoder);
    forget_last_error();
    EXPECT_TRUE(is_refused(heed_layer_load(call.layer.get(), path.c_str(), nullptr), refusal));
    EXPECT_EQ(heed_layer_is_initialized(call.layer.get()), 0);
  };
  expect_refused_with("fewer layers", invalid({"\"layers.1.", "which the encoder layer does not read"}),
                      [](BlockOptions& o) { o.encoder.num_layers = 1; });
  expect_refused_with("more layers", {HEED_ERROR_NOT_FOUND, {"layers.2."}},
                      [](BlockOptions& o) { o.encoder.num_layers = 3; });
  expect_refused_with("no final norm", invalid({"\"norm.bias\"", "which the encoder layer does not read"}),
                      [](BlockOptions& o) { o.encoder.final_norm = 0; });
  expect_refused_with("another hidden size", invalid({"W_1.weight", "(10, 8)"}),
                      [](BlockOptions& o) { o.feed_forward.hidden_size = 11; });
  expect_refused_with("no biases in the network", invalid({"W_1.bias", "no_bias 0"}),
                      [](BlockOptions& o) { o.feed_forward.no_bias = 1; });
}

}  // namespace
}  // namespace heed::capi_test
