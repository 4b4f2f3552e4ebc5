// SPDX-License-Identifier: Apache-2.0
// Layers of a Transformer's encoder and decoder, and stacks of them, by their options.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <optional>

#include "property/support/handles.h"

namespace heed::property {

struct BlockAttention {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  std::optional<heed_rope_options> rope = {};  // instead of options.rope
};

struct Block {
  bool is_decoder = false;
  int64_t num_layers = 0;  // of a stack; 0: a layer by itself
  bool final_norm = false;
  BlockAttention self_attention;
  std::optional<BlockAttention> cross_attention;
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_layer_norm_options norm = HEED_LAYER_NORM_OPTIONS_INIT;
  bool norm_first = false;
  bool output_norms = false;
  bool no_first_norm = false;
  float residual_scale = 0;
  float dropout = 0;

  // The number of attentions and networks in a layer.
  uint32_t num_parts() const { return cross_attention ? 3 : 2; }
  // Of a layer's children.
  uint32_t num_children() const { return first_dropout() + num_parts(); }
  // The number of the first dropout among them.
  uint32_t first_dropout() const { return (output_norms ? 3 : 2) * num_parts() - (no_first_norm ? 1 : 0); }
};

// The layer without its parameters.
Layer make_block(heed_context* context, const Block& block);

}  // namespace heed::property
