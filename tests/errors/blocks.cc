// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "errors/provocation.h"

namespace heed::errors_test {

Topic block_options() {
  return {
      "Options of blocks",
      "The options of an attention, a network or a norm in a block have the sentences above with the member's name: "
      "`options->attention->num_heads`.",
      {
          PROVOKE(heed_encoder_layer_create(context, &encoder_layer, &new_layer), attention.num_heads = 0),
          PROVOKE(heed_encoder_layer_create(context, &encoder_layer, &new_layer), encoder_layer.attention = NULL),
          PROVOKE(heed_encoder_layer_create(context, &encoder_layer, &new_layer), attention.num_hiddens = 0;
                  attention.head_size = 4),
          PROVOKE(heed_encoder_layer_create(context, &encoder_layer, &new_layer), attention.output_size = 9),
          PROVOKE(heed_encoder_layer_create(context, &encoder_layer, &new_layer), attention.no_output_projection = 1),
          PROVOKE(heed_encoder_layer_create(context, &encoder_layer, &new_layer), feed_forward.output_size = 9),
          PROVOKE(heed_decoder_layer_create(context, &decoder_layer, &new_layer), attention.num_hiddens = 6),
          PROVOKE(heed_encoder_create(context, &encoder, &new_layer), encoder.num_layers = 0),
          PROVOKE(heed_layer_norm_create(context, &norm, &new_layer), norm.epsilon = -1),
          PROVOKE(heed_layer_norm_create(context, &norm, &new_layer), norm.kind = 2),
          PROVOKE(heed_feed_forward_create(context, &feed_forward, &new_layer), feed_forward.hidden_size = 0),
          PROVOKE(heed_feed_forward_create(context, &feed_forward, &new_layer), feed_forward.output_size = -1),
          PROVOKE(heed_feed_forward_create(context, &feed_forward, &new_layer), feed_forward.activation = 5),
          PROVOKE(heed_embedding_create(context, &embedding, &new_layer), embedding.num_embeddings = 0),
          PROVOKE(heed_embedding_create(context, &embedding, &new_layer), embedding.embedding_size = 0),
          PROVOKE(heed_embedding_create(context, &embedding, &new_layer), embedding.padding_index = 10),
          PROVOKE(heed_embedding_create(context, &embedding, &new_layer), embedding.scale = INFINITY),
      }};
}

Topic blocks() {
  return {
      "Inputs, children and files of blocks",
      "",
      {
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder_layer();
                  inputs.queries = tensor_of(HEED_F32, {2, 3, 6})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder_layer();
                  inputs.keys = inputs.queries),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder_layer();
                  self_attention.self_mask = tensor_of(HEED_BOOL, {3, 3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder_layer(); use_cache();
                  inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder_layer();
                  outputs.weights = tensor_of(HEED_F32, {2, 2, 3, 3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder(); inputs.keys = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder();
                  inputs.keys = tensor_of(HEED_BF16, {2, 5, 7})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder(); inputs.values = inputs.keys),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder();
                  inputs.alibi_slopes = tensor_of(HEED_F32, {2})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder();
                  inputs.sinks = tensor_of(HEED_F32, {2})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder();
                  self_attention.self_valid_lens = lengths({3, 4})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), decoder_layer.cross_attention = NULL;
                  use_decoder(); inputs.valid_lens = lengths({3, 3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder(); use_cache();
                  inputs.keys = tensor_of(HEED_F32, {2, 5, 7}); inputs.values = NULL; with_cache.use = HEED_CACHE_READ),
          PROVOKE(heed_layer_fill_cache(layer, &inputs, NULL), use_decoder(); use_cache(); inputs.values = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_embedding();
                  inputs.queries = tensor_of(HEED_F32, {2, 3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_embedding();
                  inputs.queries = tensor_of(HEED_I32, {1, 1, 1, 1, 1, 1, 2, 3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_embedding();
                  inputs.queries = numbers({3, 10, 4})),
          PROVOKE(heed_layer_child_name(layer, 6), use_encoder_layer()),
          PROVOKE(heed_layer_child(layer, "norm_3", &new_layer), use_encoder_layer()),
          PROVOKE(heed_layer_child(layer, "norm_1", &new_layer)),
          PROVOKE(heed_layer_load(new_layer,
                                  names({"W_1.weight", "W_1.bias", "W_gate.weight", "W_2.weight", "W_2.bias"}), NULL),
                  heed_feed_forward_create(context, &feed_forward, &new_layer)),
          PROVOKE(heed_layer_load(layer, saved_model("{}", "feed_forward.W_3.weight"), NULL), use_encoder_layer()),
          PROVOKE(heed_layer_load(layer, path, NULL), use_encoder(); const char* path = saved_model("{}");
                  encoder.num_layers = 1; use_encoder()),
          PROVOKE(heed_layer_load(layer, path, NULL), norm.kind = HEED_NORM_RMS; use_encoder();
                  const char* path = saved_model("{}"); encoder.final_norm = 0; use_encoder()),
          PROVOKE(heed_layer_load(layer, saved_model("{'model_type':'bert'}"), NULL), norm.kind = HEED_NORM_RMS;
                  encoder_layer.norm_first = 1; feed_forward.activation = HEED_ACTIVATION_SILU; use_encoder_layer()),
          PROVOKE(heed_layer_load(layer, saved_model("{'model_type':'bert','hidden_act':'tanh'}"), NULL),
                  norm.epsilon = 1e-12f;
                  use_encoder_layer()),
      }};
}

}  // namespace heed::errors_test
