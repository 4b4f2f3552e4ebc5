/* SPDX-License-Identifier: Apache-2.0 */
/* The multi-head attention program of "Dive into Deep Learning", section 10.5, line by line in C.
 *
 *   multi_head_attention                        new weights, all inputs one: prints the shape of the result
 *   multi_head_attention FILE [--print]         weights, inputs and the expected output from a safetensors file: prints
 *                                               the shape, the largest difference and, with --print, every number of
 *                                               the result
 *   multi_head_attention --device ascend ...    the same on a Huawei Ascend NPU, which computes in 16 bits
 */
#include <heed/heed.h>
#include <stdio.h>
#include <string.h>

#include "example.h"

enum { kNumHiddens = 100, kNumHeads = 5, kBatchSize = 2, kNumQueries = 4, kNumKvPairs = 6 };

static heed_layer* create_attention(heed_context* context) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_layer* attention = NULL;
  options.num_hiddens = kNumHiddens;
  options.num_heads = kNumHeads;
  options.dropout = 0.5f;
  CHECK(heed_multi_head_attention_create(context, &options, &attention));
  return attention;
}

static heed_tensor* create_ones(heed_context* context, int64_t num_rows) {
  const int64_t dims[] = {kBatchSize, num_rows, kNumHiddens};
  heed_tensor* ones = NULL;
  CHECK(heed_tensor_create(context, HEED_F32, 3, dims, &ones));
  CHECK(heed_tensor_fill(ones, 1.0));
  return ones;
}

static heed_tensor* create_valid_lens(heed_context* context) {
  const int64_t dims[] = {kBatchSize};
  const float lens[] = {3, 2};
  heed_tensor* valid_lens = NULL;
  CHECK(heed_tensor_create_from(context, HEED_F32, 1, dims, lens, &valid_lens));
  return valid_lens;
}

/* Runs the layer as at inference: the dropout is off. */
static heed_tensor* forward(const heed_layer* attention, const heed_layer_inputs* inputs) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  CHECK(heed_layer_create_outputs(attention, inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_layer_forward(attention, inputs, NULL, &outputs));
  return outputs.output;
}

static void run_with_new_weights(heed_context* context) {
  heed_layer* attention = create_attention(context);
  heed_tensor* valid_lens = create_valid_lens(context);
  heed_tensor* X = create_ones(context, kNumQueries);
  heed_tensor* Y = create_ones(context, kNumKvPairs);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_tensor* result = NULL;

  inputs.queries = X;
  inputs.keys = Y;
  inputs.values = Y;
  inputs.valid_lens = valid_lens;
  CHECK(heed_layer_initialize(attention, &inputs, 42));
  result = forward(attention, &inputs);
  print_shape(result);

  heed_tensor_destroy(result);
  heed_tensor_destroy(Y);
  heed_tensor_destroy(X);
  heed_tensor_destroy(valid_lens);
  heed_layer_destroy(attention);
}

/* Returns whether the result is within the file's bound. */
static int run_with_file(heed_context* context, const char* path, int print, int in_16_bits) {
  heed_layer* attention = create_attention(context);
  heed_tensor *queries = NULL, *keys = NULL, *values = NULL, *valid_lens = NULL, *result = NULL;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  int within = 0;

  CHECK(heed_layer_load(attention, path, "attention"));
  CHECK(heed_tensor_load_safetensors(context, path, "queries", &queries));
  CHECK(heed_tensor_load_safetensors(context, path, "keys", &keys));
  CHECK(heed_tensor_load_safetensors(context, path, "values", &values));
  CHECK(heed_tensor_load_safetensors(context, path, "valid_lens", &valid_lens));
  inputs.queries = queries;
  inputs.keys = keys;
  inputs.values = values;
  inputs.valid_lens = valid_lens;
  result = forward(attention, &inputs);
  print_shape(result);
  within = in_16_bits ? compare_in_16_bits(context, result, path) : compare_with_file(context, result, path);
  if (print) print_elements(context, result);

  heed_tensor_destroy(result);
  heed_tensor_destroy(valid_lens);
  heed_tensor_destroy(values);
  heed_tensor_destroy(keys);
  heed_tensor_destroy(queries);
  heed_layer_destroy(attention);
  return within;
}

int main(int argc, char** argv) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  heed_context* context = NULL;
  const char* path = NULL;
  int print = 0, within = 1, valid = 1;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) {
      ++i;
      options.device = strcmp(argv[i], "ascend") == 0 ? HEED_DEVICE_ASCEND : HEED_DEVICE_CPU;
      valid = valid && (options.device == HEED_DEVICE_ASCEND || strcmp(argv[i], "cpu") == 0);
    } else if (strcmp(argv[i], "--print") == 0 && path != NULL) {
      print = 1;
    } else if (path == NULL && argv[i][0] != '-') {
      path = argv[i];
    } else {
      valid = 0;
    }
  }
  if (!valid) {
    fprintf(stderr, "usage: %s [--device cpu|ascend] [FILE.safetensors [--print]]\n", argv[0]);
    return 2;
  }
  /* All tensors here are float32, which the NPU rounds to bfloat16 if it may. */
  options.allow_reduced_precision = 1;
  CHECK(heed_context_create(&options, &context));
  if (path == NULL) {
    run_with_new_weights(context);
  } else {
    within = run_with_file(context, path, print, options.device == HEED_DEVICE_ASCEND);
  }
  heed_context_destroy(context);
  return within ? 0 : 1;
}
