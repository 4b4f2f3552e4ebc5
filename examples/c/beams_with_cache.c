/* SPDX-License-Identifier: Apache-2.0 */
/* A decoder's attention with a cache of pages. The prompt is read once; then each step computes one row for each of two
 * beams, which share the pages of the prompt. One beam is dropped. The other is saved to a file, loaded into a cache with
 * pages of another size, and goes on in both with the same bits.
 *
 *   beams_with_cache [FILE]        where the beam is saved; beam.safetensors if it is not given
 */
#include <heed/heed.h>
#include <stdio.h>
#include <string.h>

#include "example.h"

enum { kNumHiddens = 64, kNumHeads = 4, kNumKvHeads = 2, kPromptRows = 8, kNumSteps = 5, kMostBeams = 2 };

typedef float Row[kNumHiddens];

static heed_layer* create_attention(heed_context* context) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_layer* attention = NULL;
  rope.layout = HEED_ROPE_HALF;
  options.num_hiddens = kNumHiddens;
  options.num_heads = kNumHeads;
  options.num_kv_heads = kNumKvHeads;
  options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  options.rope = &rope; /* copied */
  CHECK(heed_multi_head_attention_create(context, &options, &attention));
  return attention;
}

/* A cache of 128 rows, which two sequences share. */
static heed_cache* create_cache(heed_context* context, int64_t page_size) {
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  heed_cache* cache = NULL;
  options.max_sequences = kMostBeams;
  options.num_kv_heads = kNumKvHeads;
  options.head_size = kNumHiddens / kNumHeads;
  options.capacity = 64;
  options.layout = HEED_CACHE_PAGED;
  options.page_size = page_size;
  options.num_pages = 128 / page_size;
  CHECK(heed_cache_create(context, &options, &cache));
  return cache;
}

/* Appends rows to sequence 0, and writes their outputs to `results`. */
static void append(heed_context* context, heed_layer* attention, heed_cache* cache, int64_t num_rows, const Row* rows,
                   Row* results) {
  const int64_t dims[] = {1, num_rows, kNumHiddens};
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_tensor* queries = NULL;
  CHECK(heed_tensor_create_from(context, HEED_F32, 3, dims, rows, &queries));
  cached.cache = cache;
  inputs.queries = queries; /* keys and values default to the queries */
  inputs.cache = &cached;
  CHECK(heed_layer_create_outputs(attention, &inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_layer_forward(attention, &inputs, NULL, &outputs));
  CHECK(heed_tensor_read(outputs.output, results, (size_t)num_rows * sizeof *results));
  heed_tensor_destroy(outputs.output);
  heed_tensor_destroy(queries);
}

/* Scales a row so that the mean of its magnitudes is about 1. */
static void normalize(const Row from, Row to) {
  float sum = 0.0f;
  for (int i = 0; i < kNumHiddens; ++i) sum += from[i] < 0.0f ? -from[i] : from[i];
  for (int i = 0; i < kNumHiddens; ++i) to[i] = from[i] / (sum / kNumHiddens + 1e-6f);
}

/* Steps of sequences 0 to num_beams - 1. Tensors are made once. */
typedef struct Decoder {
  heed_layer* attention;
  int64_t num_beams;
  heed_tensor* queries; /* (num_beams, 1, kNumHiddens) */
  heed_tensor* output;
  heed_workspace* workspace;
  heed_cache_inputs cached;
  heed_layer_inputs inputs;
  heed_layer_outputs outputs;
  Row rows[kMostBeams]; /* that the next step appends */
} Decoder;

/* `decoder` must not move before the end. */
static void begin(Decoder* decoder, heed_context* context, heed_layer* attention, heed_cache* cache,
                  int64_t num_beams) {
  const heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  const heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  const heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  const int64_t dims[] = {num_beams, 1, kNumHiddens};
  size_t num_bytes = 0;
  decoder->attention = attention;
  decoder->num_beams = num_beams;
  decoder->cached = cached;
  decoder->inputs = inputs;
  decoder->outputs = outputs;
  CHECK(heed_tensor_create(context, HEED_F32, 3, dims, &decoder->queries));
  CHECK(heed_tensor_create(context, HEED_F32, 3, dims, &decoder->output));
  decoder->cached.cache = cache;
  decoder->inputs.queries = decoder->queries;
  decoder->inputs.cache = &decoder->cached;
  decoder->outputs.output = decoder->output;
  /* It suffices for all steps, however long the sequences get. */
  CHECK(heed_layer_workspace_size(attention, &decoder->inputs, &decoder->outputs, &num_bytes));
  CHECK(heed_workspace_create(context, num_bytes, &decoder->workspace));
}

/* Appends the rows, writes their outputs to `results`, and sets the rows of the next step to the outputs. */
static void step(Decoder* decoder, Row* results) {
  const size_t num_bytes = (size_t)decoder->num_beams * sizeof(Row);
  CHECK(heed_tensor_write(decoder->queries, decoder->rows, num_bytes));
  CHECK(heed_layer_forward(decoder->attention, &decoder->inputs, decoder->workspace, &decoder->outputs));
  CHECK(heed_tensor_read(decoder->output, results, num_bytes));
  for (int64_t i = 0; i < decoder->num_beams; ++i) normalize(results[i], decoder->rows[i]);
}

static void end(Decoder* decoder) {
  heed_workspace_destroy(decoder->workspace);
  heed_tensor_destroy(decoder->output);
  heed_tensor_destroy(decoder->queries);
}

/* The outputs of further steps of sequence 0. */
static void go_on(heed_context* context, heed_layer* attention, heed_cache* cache, const Row first, Row* results) {
  Decoder decoder;
  begin(&decoder, context, attention, cache, 1);
  memcpy(decoder.rows[0], first, sizeof(Row));
  for (int i = 0; i < kNumSteps; ++i) step(&decoder, results + i);
  end(&decoder);
}

static int have_same_bits(const void* a, const void* b, size_t num_bytes) { return memcmp(a, b, num_bytes) == 0; }

static const char* describe(int is_same) { return is_same ? "the same bits" : "DIFFERENT bits"; }

static void print_pages(const char* words, const heed_cache* cache, int64_t sequence, const char* rows) {
  printf("%s: %d %s, %d pages free\n", words, (int)heed_cache_length(cache, sequence), rows,
         (int)heed_cache_free_pages(cache));
}

int main(int argc, char** argv) {
  static Row rows[kPromptRows + kNumSteps], outputs[kPromptRows + kNumSteps];
  Row of_step[kMostBeams], of_beam[kNumSteps], next, in_cache[kNumSteps], in_other[kNumSteps];
  const char* const file = argc > 1 ? argv[1] : "beam.safetensors";
  const int64_t dims[] = {1, kPromptRows, kNumHiddens};
  const int64_t second[] = {1};
  heed_context* context = NULL;
  heed_layer* attention = NULL;
  heed_tensor* prompt = NULL;
  heed_cache *cache = NULL, *at_once = NULL, *other = NULL;
  heed_layer_inputs shapes = HEED_LAYER_INPUTS_INIT;
  Decoder beams;
  int is_same = 1;

  CHECK(heed_context_create(NULL, &context));
  attention = create_attention(context);
  CHECK(heed_tensor_create(context, HEED_F32, 3, dims, &prompt));
  CHECK(heed_tensor_fill_normal(prompt, 0.0, 1.0, 7)); /* a program's embeddings */
  CHECK(heed_tensor_read(prompt, rows, kPromptRows * sizeof *rows));
  shapes.queries = prompt;
  CHECK(heed_layer_initialize(attention, &shapes, 42)); /* a program's weights: heed_layer_load */

  cache = create_cache(context, 16);
  append(context, attention, cache, kPromptRows, (const Row*)rows, outputs);
  print_pages("prompt", cache, 0, "rows");

  /* The beams begin with different rows. A program takes the embeddings of the two best tokens. */
  CHECK(heed_cache_fork(cache, 0, kPromptRows, 1));
  print_pages("two beams", cache, 1, "rows each");
  begin(&beams, context, attention, cache, 2);
  normalize(outputs[kPromptRows - 1], beams.rows[0]);
  for (int i = 0; i < kNumHiddens; ++i) beams.rows[1][i] = -beams.rows[0][i];
  for (int i = 0; i < kNumSteps; ++i) {
    memcpy(rows[kPromptRows + i], beams.rows[1], sizeof(Row));
    step(&beams, of_step);
    memcpy(of_beam[i], of_step[1], sizeof(Row));
  }
  print_pages("5 steps", cache, 1, "rows each");
  memcpy(next, beams.rows[1], sizeof next);
  end(&beams);

  /* Beam 1 in one call: a row has the same bits with any number of rows in the call. */
  at_once = create_cache(context, 32);
  append(context, attention, at_once, kPromptRows + kNumSteps, (const Row*)rows, outputs);
  is_same = have_same_bits(of_beam, outputs + kPromptRows, sizeof of_beam);
  printf("beam 1 in one call: %s\n", describe(is_same));

  /* Beam 1 becomes beam 0. */
  CHECK(heed_cache_reorder(cache, second, 1));
  CHECK(heed_cache_rewind(cache, 1, 0));
  printf("beam 0 dropped: %d pages free\n", (int)heed_cache_free_pages(cache));

  other = create_cache(context, 32);
  CHECK(heed_cache_save(cache, 0, file));
  CHECK(heed_cache_load(other, 0, file));
  remove(file);
  go_on(context, attention, cache, next, in_cache);
  go_on(context, attention, other, next, in_other);
  is_same = is_same && have_same_bits(in_cache, in_other, sizeof in_cache);
  printf("saved and resumed: %d rows, %s\n", (int)heed_cache_length(other, 0), describe(is_same));

  heed_cache_destroy(other);
  heed_cache_destroy(at_once);
  heed_cache_destroy(cache);
  heed_tensor_destroy(prompt);
  heed_layer_destroy(attention);
  heed_context_destroy(context);
  return is_same ? 0 : 1;
}
