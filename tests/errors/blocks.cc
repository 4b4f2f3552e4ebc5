// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

// `its_part` of the name is missing.
#define CHILD(its_name, its_part)                                         \
  ALSO_AS(NOT_FOUND, "name is \"" its_part "\", which is no child of...", \
          heed_layer_child(layer, its_name, &new_layer), use_encoder_layer())

Cases inputs_of_embeddings() {
  return {
      by(Reach::Inputs, {Kind::Embedding},
         {
             FAULT("inputs->queries is F32, expected I32 or I64: the ids of an embedding",
                   inputs.queries = tensor_of(HEED_F32, {2, 3})),
             FAULT("inputs->queries has dims (1, 1, 1, 1, 1, 1, 2, 3) of rank 8, expected rank 0 to 7...",
                   inputs.queries = tensor_of(HEED_I32, {1, 1, 1, 1, 1, 1, 2, 3})),
             FAULT("inputs->keys is set, but an embedding layer reads inputs->queries alone, expected NULL",
                   inputs.keys = inputs.queries),
         }),
      by(Reach::Memory, {Kind::Embedding},
         {
           FAULT("inputs->queries[1, 1] is 10, expected 0 to 9, an id of the embedding",
                 inputs.queries = tensor_with<int64_t>({2, 3}, {0, 1, 2, 3, 10, 4})),
               FAULT("inputs->queries[0, 0] is -1...",
                     inputs.queries = tensor_with<int32_t>({2, 3}, {-1, 1, 2, 3, 5, 4})),
               FAULT("inputs->queries is 11, expected 0 to 9, an id of the embedding",
                     inputs.queries = tensor_with<int64_t>({}, {11});
                     outputs.output = tensor_of(HEED_F32, {6})),
         }),
  };
}

Cases inputs_of_encoders(Kind kind) {
  const std::string name = std::string("an ") + capi_test::name_of(kind) + " layer";
  return {
      by(Reach::Inputs, {kind},
         {
             FAULT("inputs->mask has dims (3, 4), expected (3, 3)...", inputs.mask = tensor_of(HEED_BOOL, {3, 4})),
             FAULT("inputs->queries has dims (2, 3, 6), expected (B, S, 8)",
                   inputs.queries = tensor_of(HEED_F32, {2, 3, 6})),
             FAULT("inputs->queries has dims (3, 8), expected (B, S, 8)", inputs.queries = tensor_of(HEED_F32, {3, 8})),
             FAULT("inputs->queries has dims (2, 3, 8), expected (total, 8)",
                   sequences.query_offsets = tensor_of(HEED_I32, {3})),
             FAULT("inputs->keys is set, but " + name + " has self-attention alone: expected NULL",
                   inputs.keys = inputs.queries),
             FAULT("inputs->values is set, but " + name + "...", inputs.values = inputs.queries),
         }),
      by(Reach::Lengths, {kind},
         {
             FAULT("inputs->valid_lens[1] is 4...", inputs.valid_lens = numbers({3, 4})),
         }),
      by(Reach::Inputs, {kind},
         {
           FAULT("inputs->decoder->self_bias is set, but " + name + " is no decoder: expected NULL",
                 inputs.decoder = &self_attention;
                 self_attention.self_bias = tensor_of(HEED_F32, {3, 3})),
         }),
  };
}

Cases inputs_of_decoders() {
  return {
      by(Reach::Inputs, {Kind::Decoder},
         {
             FAULT("inputs->keys is NULL, expected a tensor: the encoder's output...", inputs.keys = NULL),
             FAULT("inputs->values is set, but a decoder layer has the values of inputs->keys: expected NULL",
                   inputs.values = inputs.keys),
             FAULT("inputs->alibi_slopes is set, but a decoder layer has slopes by the option alibi: expected NULL",
                   inputs.alibi_slopes = tensor_of(HEED_F32, {2})),
             FAULT("inputs->sinks is set, but a decoder layer has sinks by the option sinks: expected NULL",
                   inputs.sinks = tensor_of(HEED_F32, {2})),
             FAULT("inputs->keys has dims (3, 5, 7)...", inputs.keys = tensor_of(HEED_F32, {3, 5, 7})),
         }),
      by(Reach::Parameters, {Kind::Decoder},
         {
             FAULT("inputs->keys has dims (2, 5, 6), but layers.0.cross_attention.W_k.weight has (8, 7)...",
                   inputs.keys = tensor_of(HEED_F32, {2, 5, 6})),
         }),
      by(Reach::Lengths, {Kind::Decoder},
         {
           FAULT("inputs->decoder->self_valid_lens[1] is 5...", inputs.decoder = &self_attention;
                 self_attention.self_valid_lens = numbers({3, 5})),
         }),
      by(Reach::Inputs, {Kind::Decoder},
         {
           FAULT("inputs->decoder->self_mask has dims (3, 5)...", inputs.decoder = &self_attention;
                 self_attention.self_mask = tensor_of(HEED_BOOL, {3, 5})),
         }),
      by(Reach::Inputs, {Kind::MultiHead, Kind::DotProductRank3, Kind::Linear, Kind::Positions},
         {
           FAULT("inputs->decoder->self_mask is set, but a...", inputs.decoder = &self_attention;
                 self_attention.self_mask = tensor_of(HEED_BOOL, {3, 3})),
         }),
      by(Reach::Inputs,
         {
           FAULT("inputs->keys is set, but the decoder layer has no cross attention...",
                 decoder_layer.cross_attention = NULL;
                 use_decoder(); inputs.keys = tensor_of(HEED_F32, {2, 5, 7})),
               FAULT("inputs->mask is set, but the decoder layer has no cross attention...",
                     decoder_layer.cross_attention = NULL;
                     use_decoder(); inputs.mask = tensor_of(HEED_BOOL, {3, 3})),
         }),
  };
}

Cases names_of_children() {
  return {
      ALSO("index is -1, but the layer has 6 children", heed_layer_child_name(layer, -1), use_encoder_layer()),
      ALSO("index is 9223372036854775807, but the layer has 6 children", heed_layer_child_name(layer, INT64_MAX),
           use_encoder_layer()),
      ALSO("index is -9223372036854775808, but the layer has 6 children", heed_layer_child_name(layer, INT64_MIN),
           use_encoder_layer()),
      CHILD("", ""),
      CHILD("norm", "norm"),
      CHILD("norm_1.", ""),
      CHILD("norm_1.weight", "weight"),
      CHILD(".norm_1", ".norm_1"),
      CHILD("self_attention.W_q", "W_q"),
      ALSO_AS(NOT_FOUND, "name is \"weight\", which is no child of a linear layer; it has none",
              heed_layer_child(layer, "weight", &new_layer), use(Kind::Linear)),
  };
}

}  // namespace

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
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), decoder_layer.cross_attention = NULL;
                  use_decoder(); inputs.keys = inputs.values = NULL; inputs.mask = tensor_of(HEED_BOOL, {3, 3})),
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
          inputs_of_embeddings(),
          each_of({Kind::EncoderLayer, Kind::Encoder}, inputs_of_encoders),
          inputs_of_decoders(),
          names_of_children(),
      }};
}

}  // namespace heed::errors_test
