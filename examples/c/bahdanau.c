/* SPDX-License-Identifier: Apache-2.0 */
/* Bahdanau's attention of "Dive into Deep Learning": a decoder whose state, at each step, asks an additive attention which
 * of the encoder's outputs it needs. Encoder and decoder are recurrent; their cell, a gated recurrent unit, is put
 * together of two linear layers and arithmetic.
 *
 *   bahdanau
 */
#include <heed/heed.h>
#include <stdio.h>
#include <string.h>

#include "example.h"

enum { kNumTokens = 20, kEmbeddingSize = 8, kNumHiddens = 16, kNumSentences = 2, kNumWords = 6, kNumSteps = 4 };

static heed_context* context;

/* The tensors of the program, which are freed at its end. A program that goes on frees them after each step. */
static heed_tensor* tensors[1024];
static int num_tensors;

static heed_tensor* keep(heed_tensor* tensor) {
  tensors[num_tensors++] = tensor;
  return tensor;
}

static heed_tensor* new_rows(int64_t size) {
  const int64_t dims[] = {kNumSentences, size};
  heed_tensor* rows = NULL;
  CHECK(heed_tensor_create(context, HEED_F32, 2, dims, &rows));
  return keep(rows);
}

static heed_tensor* new_ids(int64_t num_columns, const int64_t* ids) {
  const int64_t dims[] = {kNumSentences, num_columns};
  heed_tensor* tensor = NULL;
  CHECK(heed_tensor_create_from(context, HEED_I64, 2, dims, ids, &tensor));
  return keep(tensor);
}

/* A view of `length` elements along axis 1. */
static heed_tensor* part_of(heed_tensor* tensor, int64_t start, int64_t length) {
  heed_tensor* part = NULL;
  CHECK(heed_tensor_slice(tensor, 1, start, length, &part));
  return keep(part);
}

static heed_tensor* reshape(heed_tensor* tensor, int32_t rank, const int64_t* dims) {
  heed_tensor* view = NULL;
  CHECK(heed_tensor_reshape(tensor, rank, dims, &view));
  return keep(view);
}

/* Runs a layer. Its first call draws random parameters; a program with a trained model loads them with heed_layer_load. */
static heed_layer_outputs forward(heed_layer* layer, const heed_layer_inputs* inputs, int32_t wanted) {
  static uint64_t seed = 42;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  if (!heed_layer_is_initialized(layer)) CHECK(heed_layer_initialize(layer, inputs, seed++));
  CHECK(heed_layer_create_outputs(layer, inputs, wanted, &outputs));
  CHECK(heed_layer_forward(layer, inputs, NULL, &outputs));
  keep(outputs.output);
  if (outputs.weights != NULL) keep(outputs.weights);
  return outputs;
}

static heed_tensor* forward_rows(heed_layer* layer, heed_tensor* x) {
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = x;
  return forward(layer, &inputs, HEED_WANT_OUTPUT).output;
}

static heed_layer* create_linear(int64_t size) {
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  heed_layer* linear = NULL;
  options.output_size = size;
  CHECK(heed_linear_create(context, &options, &linear));
  return linear;
}

static heed_layer* create_embedding(void) {
  heed_embedding_options options = HEED_EMBEDDING_OPTIONS_INIT;
  heed_layer* embedding = NULL;
  options.num_embeddings = kNumTokens;
  options.embedding_size = kEmbeddingSize;
  CHECK(heed_embedding_create(context, &options, &embedding));
  return embedding;
}

/* A gated recurrent unit (Cho et al., 2014). Each layer gives the parts of the reset gate, the update gate and the
 * candidate, one behind the other. */
enum { kReset = 0, kUpdate = kNumHiddens, kCandidate = 2 * kNumHiddens, kGateSize = 3 * kNumHiddens };
typedef struct GruCell {
  heed_layer *of_input, *of_state;
} GruCell;

static GruCell create_cell(void) {
  GruCell cell;
  cell.of_input = create_linear(kGateSize);
  cell.of_state = create_linear(kGateSize);
  return cell;
}

static void destroy_cell(GruCell cell) {
  heed_layer_destroy(cell.of_state);
  heed_layer_destroy(cell.of_input);
}

/* Of an input (B, E) and a state (B, H) the next state. */
static heed_tensor* next_state(GruCell cell, heed_tensor* input, heed_tensor* state) {
  heed_tensor* x = forward_rows(cell.of_input, input);
  heed_tensor* h = forward_rows(cell.of_state, state);
  heed_tensor* reset = new_rows(kNumHiddens);
  heed_tensor* update = new_rows(kNumHiddens);
  heed_tensor* candidate = new_rows(kNumHiddens);
  heed_tensor* next = new_rows(kNumHiddens);
  CHECK(heed_add(part_of(x, kReset, kNumHiddens), part_of(h, kReset, kNumHiddens), reset));
  CHECK(heed_elementwise(HEED_ELEMENTWISE_SIGMOID, reset, NULL, reset));
  CHECK(heed_add(part_of(x, kUpdate, kNumHiddens), part_of(h, kUpdate, kNumHiddens), update));
  CHECK(heed_elementwise(HEED_ELEMENTWISE_SIGMOID, update, NULL, update));
  CHECK(heed_multiply(reset, part_of(h, kCandidate, kNumHiddens), candidate));
  CHECK(heed_add(part_of(x, kCandidate, kNumHiddens), candidate, candidate));
  CHECK(heed_elementwise(HEED_ELEMENTWISE_TANH, candidate, NULL, candidate));
  /* candidate + update (state - candidate) */
  CHECK(heed_subtract(state, candidate, next));
  CHECK(heed_multiply(update, next, next));
  CHECK(heed_add(candidate, next, next));
  return next;
}

/* The row of a step out of rows (B, T, E), as (B, E). */
static heed_tensor* row_of(heed_tensor* rows, int64_t step) {
  const int64_t dims[] = {kNumSentences, heed_tensor_dim(rows, 2)};
  return reshape(part_of(rows, step, 1), 2, dims);
}

/* States (B, H), one behind the other as (B, T, H). */
static heed_tensor* stack(heed_tensor* const* states, int64_t num_states) {
  const int64_t row_dims[] = {kNumSentences, 1, kNumHiddens}, dims[] = {kNumSentences, num_states, kNumHiddens};
  const heed_tensor* rows[kNumWords];
  heed_tensor* stacked = NULL;
  for (int64_t i = 0; i < num_states; ++i) rows[i] = reshape(states[i], 3, row_dims);
  CHECK(heed_tensor_create(context, HEED_F32, 3, dims, &stacked));
  CHECK(heed_concatenate(rows, num_states, 1, stacked));
  return keep(stacked);
}

/* The states of all words (B, S, H). */
static heed_tensor* encode(heed_layer* embedding, GruCell cell, heed_tensor* ids) {
  heed_tensor* x = forward_rows(embedding, ids);
  heed_tensor* state = new_rows(kNumHiddens);
  heed_tensor* states[kNumWords];
  CHECK(heed_tensor_fill(state, 0));
  for (int step = 0; step < kNumWords; ++step) {
    state = next_state(cell, row_of(x, step), state);
    states[step] = state;
  }
  return stack(states, kNumWords);
}

typedef struct Decoder {
  heed_layer *embedding, *attention, *dense;
  GruCell cell;
  heed_tensor* state; /* (B, H): carried from step to step, and from call to call */
} Decoder;

static Decoder create_decoder(void) {
  heed_additive_attention_options options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
  Decoder decoder;
  options.num_hiddens = kNumHiddens;
  CHECK(heed_additive_attention_create(context, &options, &decoder.attention));
  decoder.embedding = create_embedding();
  decoder.dense = create_linear(kNumTokens);
  decoder.cell = create_cell();
  decoder.state = NULL;
  return decoder;
}

/* The logits (B, T, tokens) of the tokens behind the ids. weights: (B, 1, S) of each step, what it attends to; or NULL. */
static heed_tensor* decode(Decoder* decoder, heed_tensor* ids, heed_tensor* memory, heed_tensor* valid_lens,
                           heed_tensor** weights) {
  const int64_t num_steps = heed_tensor_dim(ids, 1), query_dims[] = {kNumSentences, 1, kNumHiddens};
  heed_tensor* x = forward_rows(decoder->embedding, ids);
  heed_tensor* states[kNumSteps];
  for (int64_t step = 0; step < num_steps; ++step) {
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    heed_layer_outputs attended;
    heed_tensor* input = new_rows(kNumHiddens + kEmbeddingSize);
    const heed_tensor* parts[2];
    inputs.queries = reshape(decoder->state, 3, query_dims);
    inputs.keys = memory; /* the values, too */
    inputs.valid_lens = valid_lens;
    attended = forward(decoder->attention, &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS);
    if (weights != NULL) weights[step] = attended.weights;
    parts[0] = row_of(attended.output, 0);
    parts[1] = row_of(x, step);
    CHECK(heed_concatenate(parts, 2, 1, input));
    decoder->state = next_state(decoder->cell, input, decoder->state);
    states[step] = decoder->state;
  }
  return forward_rows(decoder->dense, stack(states, num_steps));
}

/* Prints the attention weights of each step, sentence by sentence. */
static void print_weights(heed_tensor* const* weights) {
  float of_step[kNumSteps][kNumSentences][kNumWords];
  for (int step = 0; step < kNumSteps; ++step) {
    CHECK(heed_tensor_read(weights[step], of_step[step], sizeof of_step[step]));
  }
  for (int i = 0; i < kNumSentences; ++i) {
    printf("sentence %d: what each step attends to\n", i);
    for (int step = 0; step < kNumSteps; ++step) {
      printf(" ");
      for (int word = 0; word < kNumWords; ++word) printf(" %.3f", of_step[step][i][word]);
      printf("\n");
    }
  }
}

/* Whether the steps of a tensor (B, T, ...) from `first` on have the bits of another one. */
static int have_same_bits(heed_tensor* all, int64_t first, heed_tensor* rest) {
  static float a[kNumSentences * kNumSteps * kNumTokens], b[kNumSentences * kNumSteps * kNumTokens];
  const size_t num_bytes = heed_tensor_num_bytes(rest);
  CHECK(heed_tensor_read(part_of(all, first, heed_tensor_dim(rest, 1)), a, num_bytes));
  CHECK(heed_tensor_read(rest, b, num_bytes));
  return memcmp(a, b, num_bytes) == 0;
}

int main(void) {
  static const int64_t words[kNumSentences * kNumWords] = {5, 11, 2, 9, 17, 3, 8, 4, 19, 6, 0, 0};
  static const int64_t tokens[kNumSentences * kNumSteps] = {1, 7, 12, 4, 1, 15, 3, 3};
  static const int32_t lens[kNumSentences] = {6, 4};
  const int64_t lens_dims[] = {kNumSentences};
  heed_tensor *sources = NULL, *targets = NULL, *valid_lens = NULL, *memory = NULL, *last = NULL;
  heed_tensor *all = NULL, *first = NULL, *rest = NULL, *weights[kNumSteps] = {NULL};
  heed_layer* embedding = NULL;
  GruCell cell;
  Decoder decoder;
  int is_same = 0;

  CHECK(heed_context_create(NULL, &context));
  sources = new_ids(kNumWords, words);
  targets = new_ids(kNumSteps, tokens);
  CHECK(heed_tensor_create_from(context, HEED_I32, 1, lens_dims, lens, &valid_lens));
  keep(valid_lens);
  embedding = create_embedding();
  cell = create_cell();
  decoder = create_decoder();

  memory = encode(embedding, cell, sources);
  decoder.state = row_of(memory, kNumWords - 1);
  all = decode(&decoder, targets, memory, valid_lens, weights);
  last = decoder.state;
  printf("logits ");
  print_shape(all);
  printf("state ");
  print_shape(last);
  print_weights(weights);

  decoder.state = row_of(memory, kNumWords - 1);
  first = decode(&decoder, part_of(targets, 0, 1), memory, valid_lens, NULL);
  rest = decode(&decoder, part_of(targets, 1, kNumSteps - 1), memory, valid_lens, NULL);
  is_same = have_same_bits(all, 0, first) && have_same_bits(all, 1, rest) && have_same_bits(last, 0, decoder.state);
  printf("in two calls with the state carried on: %s bits\n", is_same ? "the same" : "OTHER");

  heed_layer_destroy(decoder.embedding);
  heed_layer_destroy(decoder.attention);
  heed_layer_destroy(decoder.dense);
  destroy_cell(decoder.cell);
  destroy_cell(cell);
  heed_layer_destroy(embedding);
  while (num_tensors > 0) heed_tensor_destroy(tensors[--num_tensors]);
  heed_context_destroy(context);
  return is_same ? 0 : 1;
}
