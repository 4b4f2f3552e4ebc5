/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a torch.nn.MultiheadAttention(12, 3, batch_first=True) in heed, and compares with what PyTorch gave.
 *
 *   load_pytorch FILE
 *
 * The file comes from Python, and holds the module's parameters under PyTorch's own names:
 *
 *   tensors = attention.state_dict()
 *   tensors |= {"queries": queries, "keys": keys, "values": values, "valid_lens": valid_lens, "output": output}
 *   safetensors.torch.save_file(tensors, "attention.safetensors")
 *
 * docs/weights.md has the other frameworks that heed knows.
 */
#include <heed/heed.h>
#include <stdio.h>

#include "example.h"

int main(int argc, char** argv) {
  heed_context* context = NULL;
  heed_layer* attention = NULL;
  heed_tensor *queries = NULL, *keys = NULL, *values = NULL, *valid_lens = NULL;
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  const char* path = argc == 2 ? argv[1] : NULL;
  int within = 0;
  if (path == NULL) {
    fprintf(stderr, "usage: %s FILE.safetensors\n", argv[0]);
    return 2;
  }

  CHECK(heed_context_create(NULL, &context));
  options.num_hiddens = 12;
  options.num_heads = 3;
  options.biases = HEED_BIAS_ALL; /* PyTorch's default */
  CHECK(heed_multi_head_attention_create(context, &options, &attention));
  /* Out of a whole model's file: its prefix instead of NULL, as "encoder.layers.0.self_attn". */
  CHECK(heed_layer_load(attention, path, NULL));

  CHECK(heed_tensor_load_safetensors(context, path, "queries", &queries));
  CHECK(heed_tensor_load_safetensors(context, path, "keys", &keys));
  CHECK(heed_tensor_load_safetensors(context, path, "values", &values));
  CHECK(heed_tensor_load_safetensors(context, path, "valid_lens", &valid_lens));
  inputs.queries = queries;
  inputs.keys = keys;
  inputs.values = values;
  inputs.valid_lens = valid_lens; /* PyTorch's key_padding_mask is True from here on */
  CHECK(heed_layer_create_outputs(attention, &inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_layer_forward(attention, &inputs, NULL, &outputs));
  print_shape(outputs.output);
  within = compare_with_file(context, outputs.output, path);

  heed_tensor_destroy(outputs.output);
  heed_tensor_destroy(valid_lens);
  heed_tensor_destroy(values);
  heed_tensor_destroy(keys);
  heed_tensor_destroy(queries);
  heed_layer_destroy(attention);
  heed_context_destroy(context);
  return within ? 0 : 1;
}
