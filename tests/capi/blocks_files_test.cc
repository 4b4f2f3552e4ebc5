// SPDX-License-Identifier: Apache-2.0
// Files of layers that are made of others, by heed's own names.
#include <gtest/gtest.h>

#include <string>

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
