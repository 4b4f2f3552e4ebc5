/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a page with each head's attention weights, for the first element of a batch.
 *
 *   head_view TEMPLATE PAGE FILE NUM_HEADS [QUERY_TOKENS [KEY_TOKENS]]
 *
 * TEMPLATE is examples/head_view/head_view.html, whose beginning says what the JSON in it looks like; PAGE is written.
 * FILE is a safetensors file with the parameters of a multi-head attention without biases under "attention", and the
 * inputs "queries" and, where they are given, "keys", "values", "valid_lens" and "mask". The tokens are text files in
 * UTF-8 with a token on each line; rows and columns without tokens are numbered.
 */
#include <heed/heed.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

static void stop(const char* what, const char* path) {
  fprintf(stderr, "%s %s\n", what, path);
  exit(1);
}

/* ---- the layer --------------------------------------------------------------------------------------------------- */

/* A tensor of the file, or NULL if it has none of that name. */
static heed_tensor* load(heed_context* context, const char* path, const char* name) {
  heed_tensor* tensor = NULL;
  const heed_status status = heed_tensor_load_safetensors(context, path, name, &tensor);
  if (status != HEED_ERROR_NOT_FOUND) check(status, "heed_tensor_load_safetensors");
  return tensor;
}

/* The attention weights (B, H, Q, K). */
static heed_tensor* attend(heed_context* context, const char* path, int64_t num_heads) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer* attention = NULL;
  heed_tensor *queries = NULL, *keys = load(context, path, "keys"), *values = load(context, path, "values");
  heed_tensor *valid_lens = load(context, path, "valid_lens"), *mask = load(context, path, "mask");

  CHECK(heed_tensor_load_safetensors(context, path, "queries", &queries));
  options.num_hiddens = heed_tensor_dim(queries, -1);
  options.num_heads = num_heads;
  CHECK(heed_multi_head_attention_create(context, &options, &attention));
  CHECK(heed_layer_load(attention, path, "attention"));
  inputs.queries = queries;
  inputs.keys = keys;
  inputs.values = values;
  inputs.valid_lens = valid_lens;
  inputs.mask = mask;
  CHECK(heed_layer_create_outputs(attention, &inputs, HEED_WANT_WEIGHTS, &outputs));
  CHECK(heed_layer_forward(attention, &inputs, NULL, &outputs));

  heed_tensor_destroy(mask);
  heed_tensor_destroy(valid_lens);
  heed_tensor_destroy(values);
  heed_tensor_destroy(keys);
  heed_tensor_destroy(queries);
  heed_layer_destroy(attention);
  return outputs.weights;
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

/* The bytes of a file, terminated; freed by the caller. */
static char* read_file(const char* path) {
  FILE* file = fopen(path, "rb");
  char* text = NULL;
  long size = 0;
  if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) stop("cannot read", path);
  rewind(file);
  text = calloc((size_t)size + 1, 1);
  if (text == NULL || fread(text, 1, (size_t)size, file) != (size_t)size) stop("cannot read", path);
  fclose(file);
  return text;
}

/* A character in a JSON string. Written like this, no text can end the script element that the JSON is in. */
static void write_character(FILE* page, char c) {
  if ((unsigned char)c < 0x20 || strchr("\"\\<", c) != NULL) {
    fprintf(page, "\\u%04x", (unsigned)c);
  } else {
    fputc(c, page);
  }
}

/* The lines of a file, which may end as Windows' do, as a list of strings: "queries": ["a", "b"], */
static void write_tokens(FILE* page, const char* name, const char* path) {
  char* text = read_file(path);
  const char* separator = "";
  fprintf(page, "\"%s\": [", name);
  for (const char* c = text; *c != '\0'; ++c) {
    fprintf(page, "%s\"", separator);
    for (; *c != '\n' && *c != '\0'; ++c) {
      if (*c != '\r' || (c[1] != '\n' && c[1] != '\0')) write_character(page, *c);
    }
    fputc('"', page);
    separator = ", ";
    if (*c == '\0') break;
  }
  fprintf(page, "],\n");
  free(text);
}

/* Nine digits tell any two floats apart. JSON has no NaN. A program with setlocale must keep the decimal point. */
static void write_number(FILE* page, float number) {
  if (isfinite(number)) {
    fprintf(page, "%.9g", number);
  } else {
    fprintf(page, "null");
  }
}

static void write_heads(FILE* page, heed_context* context, heed_tensor* weights) {
  const int64_t num_heads = heed_tensor_dim(weights, 1), num_queries = heed_tensor_dim(weights, 2);
  const int64_t num_keys = heed_tensor_dim(weights, 3), dims[] = {1, num_heads, num_queries, num_keys};
  const int64_t num_elements = num_heads * num_queries * num_keys;
  float* elements = calloc((size_t)num_elements + 1, sizeof(float));
  const float* next = elements;
  heed_tensor *first = NULL, *floats = NULL;
  if (elements == NULL) stop("out of memory for", "the weights");
  CHECK(heed_tensor_slice(weights, 0, 0, 1, &first));
  CHECK(heed_tensor_create(context, HEED_F32, 4, dims, &floats));
  CHECK(heed_tensor_copy(floats, first)); /* from F16 or BF16, perhaps */
  CHECK(heed_tensor_read(floats, elements, heed_tensor_num_bytes(floats)));

  fprintf(page, "\"heads\": [");
  for (int64_t h = 0; h < num_heads; ++h) {
    fprintf(page, "%s\n{\"name\": \"head %d\", \"weights\": [", h == 0 ? "" : ",", (int)h);
    for (int64_t q = 0; q < num_queries; ++q) {
      fprintf(page, q == 0 ? "\n[" : ",\n[");
      for (int64_t k = 0; k < num_keys; ++k) {
        if (k > 0) fputc(',', page);
        write_number(page, *next++);
      }
      fputc(']', page);
    }
    fprintf(page, "]}");
  }
  fprintf(page, "]");

  heed_tensor_destroy(floats);
  heed_tensor_destroy(first);
  free(elements);
}

int main(int argc, char** argv) {
  static const char kPlace[] = "@HEED_HEADS@";
  heed_context* context = NULL;
  heed_tensor* weights = NULL;
  char *template_text = NULL, *place = NULL;
  FILE* page = NULL;
  if (argc < 5 || argc > 7) {
    fprintf(stderr, "usage: %s TEMPLATE PAGE FILE.safetensors NUM_HEADS [QUERY_TOKENS [KEY_TOKENS]]\n", argv[0]);
    return 2;
  }

  CHECK(heed_context_create(NULL, &context));
  weights = attend(context, argv[3], atoi(argv[4]));

  template_text = read_file(argv[1]);
  place = strstr(template_text, kPlace);
  if (place == NULL) stop("no place for the data in", argv[1]);
  page = fopen(argv[2], "wb");
  if (page == NULL) stop("cannot write", argv[2]);
  fwrite(template_text, 1, (size_t)(place - template_text), page);
  fprintf(page, "{\"title\": \"Attention weights\", \"layer\": \"");
  for (const char* c = argv[3]; *c != '\0'; ++c) write_character(page, *c);
  fprintf(page, "\",\n");
  if (argc > 5) write_tokens(page, "queries", argv[5]);
  if (argc > 6) write_tokens(page, "keys", argv[6]);
  write_heads(page, context, weights);
  fprintf(page, "}%s", place + strlen(kPlace));
  if (ferror(page) != 0 || fclose(page) != 0) stop("cannot write", argv[2]);

  free(template_text);
  heed_tensor_destroy(weights);
  heed_context_destroy(context);
  return 0;
}
