// SPDX-License-Identifier: Apache-2.0
// Transformers, and the encoder's output that their decoders attend to.
#include "errors/provocation.h"

namespace heed::errors_test {

Topic transformers() {
  return {"Transformers",
          "The errors of the encoder and of the decoder have the sentences above with the member's name: "
          "`options->decoder->num_layers`. With `transformer.embedding` the inputs of a valid call are ids (2, 3) and "
          "(2, 5).",
          {
              PROVOKE(heed_transformer_create(context, &transformer, &new_layer), decoder_layer.cross_attention = NULL),
              PROVOKE(heed_transformer_create(context, &transformer, &new_layer), encoder.output = &output),
              PROVOKE(heed_transformer_create(context, &transformer, &new_layer), decoder.output = &output;
                      transformer.output = &output),
              PROVOKE(heed_transformer_create(context, &transformer, &new_layer), encoder.embedding = &embedding;
                      transformer.embedding = &embedding),
              PROVOKE(heed_transformer_create(context, &transformer, &new_layer), causal.num_hiddens = 6;
                      transformer.embedding = &embedding),
              PROVOKE(heed_transformer_create(context, &transformer, &new_layer), transformer.embedding = &embedding),
              PROVOKE(heed_layer_initialize(layer, &inputs, 1), use_transformer(); inputs.queries = NULL),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_transformer();
                      self_attention.memory = inputs.keys),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_transformer(); inputs.keys = NULL),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_transformer();
                      self_attention.memory = inputs.keys; inputs.keys = NULL; inputs.queries = NULL),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_transformer(); use_cache();
                      inputs.keys = tensor_of(HEED_F32, {2, 5, 8}); inputs.values = NULL; inputs.queries = NULL),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_transformer();
                      inputs.bias = tensor_of(HEED_F32, {3, 5})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_transformer();
                      inputs.mask = tensor_of(HEED_BOOL, {3, 5})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), transformer.embedding = &embedding;
                      embedding.embedding_size = 0; use_transformer(); inputs.token_types = inputs.keys),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), transformer.embedding = &embedding;
                      embedding.embedding_size = 0; use_transformer(); inputs.keys = numbers({1, 2})),
          }};
}

Topic memory_caches() {
  return {
      "Caches of the encoder's output",
      "`use_memory_cache()` makes `inputs` those of a call that reads the encoder's output from `memory_cache`, "
      "which has "
      "2 layers.",
      {
          PROVOKE(heed_layer_cache_options(new_layer, &cache_options),
                  heed_linear_create(context, &linear_options, &new_layer)),
          PROVOKE(heed_layer_fill_cache(layer, &inputs, NULL), decoder_layer.cross_attention = NULL; use_decoder();
                  use_cache(); inputs.queries = inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_fill_cache(layer, &inputs, NULL), use_transformer(); use_cache();
                  inputs.queries = inputs.values = NULL; inputs.valid_lens = sequences.query_lens = lengths({5, 4});
                  inputs.sequences = &sequences),
          PROVOKE(heed_layer_fill_cache(layer, &inputs, NULL), use_transformer(); use_cache();
                  inputs.queries = inputs.values = NULL;
                  self_attention.self_attention_mask = tensor_of(HEED_I32, {2, 3}); inputs.decoder = &self_attention),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), decoder_layer.cross_attention = NULL;
                  use_decoder(); use_memory_cache()),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_memory_cache();
                  inputs.decoder = &self_attention),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder(); use_memory_cache();
                  with_memory.use = HEED_CACHE_APPEND),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder(); use_memory_cache();
                  inputs.keys = tensor_of(HEED_F32, {2, 5, 7})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder(); use_memory_cache();
                  inputs.cache = &with_memory),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder();
                  self_attention.memory = inputs.keys),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_transformer(); use_memory_cache();
                  inputs.queries = NULL),
      }};
}

}  // namespace heed::errors_test
