// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

#define NORM(its_sentence, ...) ALSO(its_sentence, heed_layer_norm_create(context, &norm, &new_layer), __VA_ARGS__)
#define NETWORK(its_sentence, ...) \
  ALSO(its_sentence, heed_feed_forward_create(context, &feed_forward, &new_layer), __VA_ARGS__)
#define EMBEDDING(its_sentence, ...) \
  ALSO(its_sentence, heed_embedding_create(context, &embedding, &new_layer), __VA_ARGS__)
#define ENCODER_LAYER(its_sentence, ...) \
  ALSO(its_sentence, heed_encoder_layer_create(context, &encoder_layer, &new_layer), __VA_ARGS__)
#define DECODER_LAYER(its_sentence, ...) \
  ALSO(its_sentence, heed_decoder_layer_create(context, &decoder_layer, &new_layer), __VA_ARGS__)
#define ENCODER(its_sentence, ...) ALSO(its_sentence, heed_encoder_create(context, &encoder, &new_layer), __VA_ARGS__)

Cases options_of_norms() {
  return {
      NORM("options->epsilon is nan...", norm.epsilon = NAN),
      NORM("options->epsilon is inf...", norm.epsilon = INFINITY),
      NORM("options->kind is -1...", norm.kind = -1),
      NORM("options->no_bias is 2, expected 0 or 1", norm.no_bias = 2),
      NORM("options->reserved is 1, expected 0", norm.reserved = 1),
  };
}

Cases options_of_networks() {
  return {
      NETWORK("options->hidden_size is -3, expected at least 1", feed_forward.hidden_size = -3),
      NETWORK("options->activation is -1...", feed_forward.activation = -1),
      NETWORK("options->gated is 2, expected 0 or 1", feed_forward.gated = 2),
      NETWORK("options->no_bias is -1, expected 0 or 1", feed_forward.no_bias = -1),
      NETWORK("options->dropout is 1...", feed_forward.dropout = 1),
      NETWORK("options->dropout is nan...", feed_forward.dropout = NAN),
  };
}

Cases options_of_embeddings() {
  return {
      EMBEDDING("options->num_embeddings is 2147483648...", embedding.num_embeddings = int64_t{1} << 31),
      EMBEDDING("options->padding_index is -2...", embedding.padding_index = -2),
      EMBEDDING("options->scale is nan, expected a finite number", embedding.scale = NAN),
      EMBEDDING("options->scale is -inf...", embedding.scale = -INFINITY),
      EMBEDDING("options->reserved is 1, expected 0", embedding.reserved = 1),
  };
}

// Of stacks, the sentences name the part by the members that lead to it.
Cases options_of_encoders() {
  return {
    ENCODER_LAYER("options->feed_forward is NULL, expected a pointer", encoder_layer.feed_forward = NULL),
        ENCODER_LAYER("options->attention->num_hiddens is 9...", attention.num_hiddens = 9),
        ENCODER_LAYER("options->attention->num_hiddens is 0, expected at least 1, the size of the rows",
                      attention.num_hiddens = 0;
                      attention.head_size = 4; attention.output_size = 8),
        ENCODER_LAYER(
            "options->attention->no_output_projection is 1, expected 0: the output is added to rows of num_hiddens",
            attention.no_output_projection = 1;
            attention.biases = 0),
        ENCODER_LAYER("options->feed_forward->output_size is 7, expected 8 or 0: it is added to rows of num_hiddens",
                      feed_forward.output_size = 7),
        ENCODER_LAYER("options->feed_forward->hidden_size is 0, expected at least 1", feed_forward.hidden_size = 0),
        ENCODER_LAYER("options->norm->epsilon is -1...", norm.epsilon = -1),
        ENCODER_LAYER("options->norm->kind is 9...", norm.kind = 9),
        ENCODER_LAYER("options->norm_first is 2, expected 0 or 1", encoder_layer.norm_first = 2),
        ENCODER_LAYER("options->dropout is 1...", encoder_layer.dropout = 1),
        ENCODER("options->layer is NULL, expected a pointer", encoder.layer = NULL),
        ENCODER("options->num_layers is 4097, expected 1 to 4096", encoder.num_layers = 4097),
        ENCODER("options->final_norm is 2, expected 0 or 1", encoder.final_norm = 2),
        ENCODER("options->reserved is 1, expected 0", encoder.reserved = 1),
        ENCODER("options->layer->attention->num_heads is 0, expected at least 1", attention.num_heads = 0),
        ENCODER("options->layer->dropout is -1...", encoder_layer.dropout = -1),
        ENCODER("options->layer->dropout is 2...", encoder_layer.dropout = 2),
        ENCODER("options->layer->attention->dropout is 2...", attention.dropout = 2),
        ENCODER("options->layer->feed_forward->dropout is -1...", feed_forward.dropout = -1),
        ENCODER("options->layer->norm->epsilon is -1...", norm.epsilon = -1),
        ENCODER("options->layer->attention->sinks is 2, expected 0 or 1", attention.sinks = 2),
  };
}

Cases options_of_decoders() {
  return {
    DECODER_LAYER("options->self_attention is NULL, expected a pointer", decoder_layer.self_attention = NULL),
        DECODER_LAYER("options->cross_attention->num_hiddens is 4, expected 8, as self_attention has",
                      attention.num_hiddens = 4),
        DECODER_LAYER("options->cross_attention->output_size is 4, expected 8 or 0...", attention.output_size = 4),
        DECODER_LAYER("options->self_attention->scoring is 7...", causal.scoring = 7),

        ALSO("options->layers[1]->self_attention->soft_cap is -1...",
             heed_decoder_create(context, &decoder, &new_layer), second_layer.self_attention = &second_attention;
             second_attention.soft_cap = -1; decoder.layer = NULL; decoder.layers = each_layer),
        ALSO("options->decoder->layers[1]->self_attention->soft_cap is -1...",
             heed_transformer_create(context, &transformer, &new_layer),
             second_layer.self_attention = &second_attention;
             second_attention.soft_cap = -1; decoder.layer = NULL; decoder.layers = each_layer),
        ALSO("options->decoder->layers[0]->cross_attention is NULL, expected...",
             heed_transformer_create(context, &transformer, &new_layer), second_layer.cross_attention = NULL;
             each_layer[0] = &second_layer; decoder.layer = NULL; decoder.layers = each_layer),
  };
}

}  // namespace

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
          options_of_norms(),
          options_of_networks(),
          options_of_embeddings(),
          options_of_encoders(),
          options_of_decoders(),
      }};
}

}  // namespace heed::errors_test
