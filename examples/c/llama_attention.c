/* SPDX-License-Identifier: Apache-2.0 */
/* The attention of a Llama out of its file in Hugging Face's form: four heads that share the keys of two, rotary
 * positions, each token attends to itself and those before it. Compares with expected numbers.
 *
 *   llama_attention examples/llama_attention/model.safetensors examples/llama_attention/tokens.safetensors
 *
 * The options are those of the config.json beside the model; examples/llama_attention/make_model.py made all three.
 */
#include <heed/heed.h>
#include <stdio.h>

#include "example.h"

static heed_layer* create_attention(heed_context* context) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_layer* attention = NULL;
  rope.layout = HEED_ROPE_HALF; /* Hugging Face's files; Meta's own are HEED_ROPE_INTERLEAVED */
  rope.base = 500000;           /* rope_theta */
  options.num_hiddens = 32;     /* hidden_size */
  options.num_heads = 4;        /* num_attention_heads */
  options.num_kv_heads = 2;     /* num_key_value_heads */
  options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  options.rope = &rope;
  CHECK(heed_multi_head_attention_create(context, &options, &attention));
  return attention;
}

int main(int argc, char** argv) {
  heed_context* context = NULL;
  heed_layer* attention = NULL;
  heed_tensor* tokens = NULL;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  int within = 0;
  if (argc != 3) {
    fprintf(stderr, "usage: %s MODEL.safetensors TOKENS.safetensors\n", argv[0]);
    return 2;
  }

  CHECK(heed_context_create(NULL, &context));
  attention = create_attention(context);
  /* Refused if the options are not those of the config.json. */
  CHECK(heed_layer_load(attention, argv[1], "model.layers.0.self_attn"));

  CHECK(heed_tensor_load_safetensors(context, argv[2], "hidden_states", &tokens));
  inputs.queries = tokens; /* keys and values default to the queries */
  CHECK(heed_layer_create_outputs(attention, &inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_layer_forward(attention, &inputs, NULL, &outputs));
  print_shape(outputs.output);
  within = compare_with_file(context, outputs.output, argv[2]);

  heed_tensor_destroy(outputs.output);
  heed_tensor_destroy(tokens);
  heed_layer_destroy(attention);
  heed_context_destroy(context);
  return within ? 0 : 1;
}
