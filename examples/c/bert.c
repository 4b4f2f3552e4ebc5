/* SPDX-License-Identifier: Apache-2.0 */
/* A whole BERT from its folder as Hugging Face's libraries write it: ids to hidden states, compared with PyTorch's.
 *
 *   bert tests/golden/data/models/bert tests/golden/data/models/bert/cases.safetensors
 *
 * The folder has config.json and model.safetensors. The second file has the ids of two texts of different lengths, as a
 * tokenizer gives them (input_ids, token_type_ids, attention_mask), and the hidden states that PyTorch computed.
 */
#include <heed/heed.h>
#include <stdio.h>
#include <stdlib.h>

#include "example.h"

/* The largest difference in the rows of tokens, for which the tokenizer's mask has ones; rows of padding have no meaning. */
static double largest_difference(const heed_tensor* is, const heed_tensor* expected, const heed_tensor* mask) {
  const int64_t width = heed_tensor_dim(is, 2);
  float* a = elements_of(is, sizeof *a);
  float* b = elements_of(expected, sizeof *b);
  int64_t* is_token = elements_of(mask, sizeof *is_token);
  double largest = 0;
  for (int64_t i = 0; i < heed_tensor_num_elements(is); ++i) {
    const double difference = a[i] < b[i] ? (double)b[i] - a[i] : (double)a[i] - b[i];
    const int is_larger = !(difference <= largest) && largest == largest; /* one that is NaN stays */
    if (is_token[i / width] != 0 && is_larger) largest = difference;
  }
  free(is_token);
  free(a);
  free(b);
  return largest;
}

int main(int argc, char** argv) {
  heed_context* context = NULL;
  heed_layer* bert = NULL;
  heed_tensor *ids = NULL, *token_types = NULL, *mask = NULL, *expected = NULL;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  double difference = 0;
  if (argc != 3) {
    fprintf(stderr, "usage: %s FOLDER CASES.safetensors\n", argv[0]);
    return 2;
  }

  CHECK(heed_context_create(NULL, &context));
  CHECK(heed_layer_create_from_folder(context, argv[1], &bert));

  CHECK(heed_tensor_load_safetensors(context, argv[2], "input_ids", &ids));
  CHECK(heed_tensor_load_safetensors(context, argv[2], "token_type_ids", &token_types));
  CHECK(heed_tensor_load_safetensors(context, argv[2], "attention_mask", &mask));

  inputs.queries = ids;
  inputs.token_types = token_types;
  inputs.attention_mask = mask; /* padding is hidden */
  CHECK(heed_layer_create_outputs(bert, &inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_layer_forward(bert, &inputs, NULL, &outputs));
  print_shape(outputs.output);

  CHECK(heed_tensor_load_safetensors(context, argv[2], "last_hidden_state", &expected));
  difference = largest_difference(outputs.output, expected, mask);
  printf("hidden states of PyTorch: largest difference %.2g\n", difference);

  heed_tensor_destroy(expected);
  heed_tensor_destroy(outputs.output);
  heed_tensor_destroy(mask);
  heed_tensor_destroy(token_types);
  heed_tensor_destroy(ids);
  heed_layer_destroy(bert);
  heed_context_destroy(context);
  return difference < 1e-4 ? 0 : 1;
}
