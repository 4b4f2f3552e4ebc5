// SPDX-License-Identifier: Apache-2.0
// Stacks with embeddings, positions and heads, and with options of each layer.
#include <cmath>

#include "errors/provocation.h"

namespace heed::errors_test {

Topic stack_options() {
  return {
      "Options of stacks",
      "",
      {
          PROVOKE(heed_encoder_create(context, &encoder, &new_layer),
                  const heed_encoder_layer_options* each[] = {&encoder_layer, &encoder_layer};
                  encoder.layers = each),
          PROVOKE(heed_encoder_create(context, &encoder, &new_layer),
                  const heed_encoder_layer_options* each[] = {&encoder_layer, &encoder_layer};
                  encoder.layers = each; encoder.layer = NULL; encoder.share_layers = 1),
          PROVOKE(
              heed_encoder_create(context, &encoder, &new_layer), heed_multi_head_attention_options smaller = attention;
              smaller.num_hiddens = 6; heed_encoder_layer_options second = encoder_layer; second.attention = &smaller;
              const heed_encoder_layer_options* each[] = {&encoder_layer, &second}; encoder.layers = each;
              encoder.layer = NULL),
          PROVOKE(heed_decoder_create(context, &decoder, &new_layer), heed_decoder_layer_options second = decoder_layer;
                  second.cross_attention = NULL; const heed_decoder_layer_options* each[] = {&decoder_layer, &second};
                  decoder.layers = each; decoder.layer = NULL),
          PROVOKE(
              heed_decoder_create(context, &decoder, &new_layer), heed_multi_head_attention_options smaller = causal;
              smaller.num_hiddens = 6; heed_decoder_layer_options second = decoder_layer;
              second.self_attention = &smaller; const heed_decoder_layer_options* each[] = {&decoder_layer, &second};
              decoder.layers = each; decoder.layer = NULL),
          PROVOKE(heed_encoder_layer_create(context, &encoder_layer, &new_layer), encoder_layer.output_norms = 1),
          PROVOKE(heed_encoder_layer_create(context, &encoder_layer, &new_layer),
                  encoder_layer.residual_scale = INFINITY),
          PROVOKE(heed_encoder_layer_create(context, &encoder_layer, &new_layer), encoder_layer.norm_first = 1;
                  encoder_layer.output_norms = 1; encoder_layer.residual_scale = 0.5f),
          PROVOKE(heed_encoder_create(context, &encoder, &new_layer), encoder.num_token_types = 2),
          PROVOKE(heed_encoder_create(context, &encoder, &new_layer), encoder.embedding = &embedding;
                  encoder.num_token_types = -1),
          PROVOKE(heed_encoder_create(context, &encoder, &new_layer), encoder.positions = &encoding),
          PROVOKE(heed_encoder_create(context, &encoder, &new_layer), encoder.positions = &encoding;
                  encoder.embedding = &embedding; embedding.embedding_size = 4),
          PROVOKE(heed_decoder_create(context, &decoder, &new_layer), decoder.output = &output; output.scale = NAN),
          PROVOKE(heed_decoder_create(context, &decoder, &new_layer), decoder.output = &output; output.soft_cap = -1),
          PROVOKE(heed_decoder_create(context, &decoder, &new_layer), decoder.output = &output; output.size = 0),
          PROVOKE(heed_decoder_create(context, &decoder, &new_layer), decoder.output = &output; output.tied = 1),
          PROVOKE(heed_decoder_create(context, &decoder, &new_layer), decoder.embedding = &embedding;
                  decoder.output = &output; output.tied = 1),
      }};
}

Topic stacks() {
  return {"Stacks with embeddings and heads",
          "With `encoder.embedding` or `decoder.embedding` the `queries` of a valid call are ids (2, 3).",
          {
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), encoder.embedding = &embedding; use_encoder();
                      inputs.queries = NULL),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), encoder.embedding = &embedding; use_encoder();
                      inputs.queries = numbers({1, 2, 3})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_audio();
                      inputs.queries = tensor_of(HEED_I32, {2, 4, 6})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), encoder.embedding = &embedding; use_encoder();
                      inputs.token_types = inputs.queries),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), encoder.embedding = &embedding;
                      encoder.num_token_types = 2; use_encoder(); inputs.token_types = numbers({0, 1, 1})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), encoder.embedding = &embedding;
                      encoder.num_token_types = 2; use_encoder(); inputs.token_types = tensor_of(HEED_F32, {2, 3})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), encoder.embedding = &embedding;
                      encoder.num_token_types = 2; use_encoder(); inputs.token_types = tensor_of(HEED_I32, {2, 3});
                      heed_tensor_fill((heed_tensor*)inputs.token_types, 2)),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder_layer();
                      inputs.token_types = tensor_of(HEED_I32, {2, 3})),
              PROVOKE(heed_layer_forward(new_layer, &inputs, NULL, &outputs), decoder.embedding = &embedding;
                      embedding.embedding_size = 0; decoder.output = &output; output.tied = 1; output.size = 0;
                      use_decoder(); heed_layer_child(layer, "output", &new_layer); inputs.keys = NULL;
                      inputs.decoder = NULL; inputs.queries = tensor_of(HEED_F32, {2, 3, 7})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), decoder_layer.cross_attention = NULL;
                      decoder.positions = &encoding; encoding.size = 0; use_decoder(); cache_options.num_layers = 2;
                      cache_options.capacity = 16; use_cache(); inputs.keys = inputs.values = NULL;
                      for (int i = 0; i < 3; ++i) heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_layer_load(layer, path, NULL), decoder.output = &output; output.bias = 1; use_decoder();
                      const char* path = saved_model("{}"); output.bias = 0; use_decoder()),
              PROVOKE(heed_layer_load(layer, path, NULL), encoder.embedding = &embedding; use_encoder();
                      const char* path = saved_model("{}"); encoder.no_projection_bias = 1; use_encoder()),
              PROVOKE(heed_layer_load(layer, path, NULL), use_encoder(); const char* path = saved_model("{}");
                      norm.no_bias = 1; use_encoder()),
              PROVOKE(heed_layer_load(layer, names({"03attentionNorm_runningMean"}), NULL), use_encoder_layer()),
              PROVOKE(heed_layer_load(layer, saved_model("{'model_type':'bert'}"), NULL), encoder_layer.norm_first = 1;
                      encoder_layer.output_norms = 1; use_encoder_layer()),
              PROVOKE(heed_layer_load(layer, saved_model("{'model_type':'bert'}"), NULL),
                      encoder_layer.residual_scale = 0.25f;
                      norm.epsilon = 1e-12f; feed_forward.activation = HEED_ACTIVATION_GELU; use_encoder_layer()),
          }};
}

}  // namespace heed::errors_test
