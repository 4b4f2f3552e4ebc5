// SPDX-License-Identifier: Apache-2.0
#include "support/block.h"

namespace heed::property {
namespace {

// heed's form of the options, which refers to `attention`.
heed_multi_head_attention_options options_of(const BlockAttention& attention) {
  heed_multi_head_attention_options options = attention.options;
  if (attention.rope) options.rope = &*attention.rope;
  return options;
}

template <typename Options>
void set_common(const Block& block, Options& options) {
  options.feed_forward = &block.feed_forward;
  options.norm = &block.norm;
  options.norm_first = block.norm_first ? 1 : 0;
  options.output_norms = block.output_norms ? 1 : 0;
  options.no_first_norm = block.no_first_norm ? 1 : 0;
  options.residual_scale = block.residual_scale;
  options.dropout = block.dropout;
}

// Makes a layer with these options, or a stack of such layers.
template <typename StackOptions, typename LayerOptions, typename CreateLayer, typename CreateStack>
Layer make(heed_context* context, const Block& block, const LayerOptions& layer_options, StackOptions stack_options,
           CreateLayer create_layer, CreateStack create_stack) {
  heed_layer* layer = nullptr;
  if (block.num_layers == 0) {
    check(create_layer(context, &layer_options, &layer));
    return Layer(layer);
  }
  stack_options.layer = &layer_options;
  stack_options.num_layers = block.num_layers;
  stack_options.final_norm = block.final_norm ? 1 : 0;
  check(create_stack(context, &stack_options, &layer));
  return Layer(layer);
}

}  // namespace

Layer make_block(heed_context* context, const Block& block) {
  const heed_multi_head_attention_options self_attention = options_of(block.self_attention);
  if (!block.is_decoder) {
    heed_encoder_layer_options options = HEED_ENCODER_LAYER_OPTIONS_INIT;
    options.attention = &self_attention;
    set_common(block, options);
    return make(context, block, options, heed_encoder_options HEED_ENCODER_OPTIONS_INIT, heed_encoder_layer_create,
                heed_encoder_create);
  }
  heed_decoder_layer_options options = HEED_DECODER_LAYER_OPTIONS_INIT;
  options.self_attention = &self_attention;
  heed_multi_head_attention_options cross_attention = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  if (block.cross_attention) {
    cross_attention = options_of(*block.cross_attention);
    options.cross_attention = &cross_attention;
  }
  set_common(block, options);
  return make(context, block, options, heed_decoder_options HEED_DECODER_OPTIONS_INIT, heed_decoder_layer_create,
              heed_decoder_create);
}

}  // namespace heed::property
