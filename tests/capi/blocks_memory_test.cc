// SPDX-License-Identifier: Apache-2.0
// The workspaces of stacks: that of one layer, whatever the number of layers.
#include <gtest/gtest.h>

#include <cstdint>

#include "capi/support/attention_call.h"

namespace heed::capi_test {
namespace {

constexpr int64_t kRowSize = 8;

size_t workspace_of_layers(Kind kind, int64_t num_layers, const Sizes& sizes, bool norm_first) {
  BlockOptions blocks;
  blocks.encoder.num_layers = blocks.decoder.num_layers = num_layers;
  blocks.encoder_layer.norm_first = blocks.decoder_layer.norm_first = norm_first ? 1 : 0;
  blocks.encoder.final_norm = blocks.decoder.final_norm = 0;
  AttentionCall call(kind, sizes);
  call.layer = kind == Kind::Encoder ? make_encoder(call.context.get(), blocks.encoder)
                                     : make_decoder(call.context.get(), blocks.decoder);
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
  return call.workspace_size();
}

TEST(BlockWorkspace, OfAStackIsThatOfALayerAndTwoActivations) {
  for (const Kind kind : {Kind::Encoder, Kind::Decoder}) {
    for (const bool norm_first : {false, true}) {
      for (const Sizes sizes : {Sizes{}, Sizes{1, 1, 1}, Sizes{2, 70, 90}, Sizes{8, 128, 16}}) {
        const size_t of_one = workspace_of_layers(kind, 1, sizes, norm_first);
        const size_t of_two = workspace_of_layers(kind, 2, sizes, norm_first);
        // Each array is rounded up to 64 bytes.
        const size_t activation = static_cast<size_t>(sizes.batch * sizes.num_queries * kRowSize) * sizeof(float) + 63;
        EXPECT_GE(of_two, of_one);
        for (const int64_t num_layers : {3, 12}) {
          const size_t of_many = workspace_of_layers(kind, num_layers, sizes, norm_first);
          EXPECT_LE(of_many, of_one + 2 * activation) << num_layers << " layers";
          EXPECT_GE(of_many, of_two);
        }
      }
    }
  }
}

}  // namespace
}  // namespace heed::capi_test
