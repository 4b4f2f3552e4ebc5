/* SPDX-License-Identifier: Apache-2.0 */
/* The Transformer of "Dive into Deep Learning", put together of heed's layers and arithmetic: an encoder, and a decoder
 * that continues two sentences greedily, step by step. Beside them compute heed's own encoder and decoder, with the same
 * parameters.
 *
 *   transformer
 */
#include <heed/heed.h>
#include <stdio.h>

#include "example.h"

enum {
  kNumTokens = 24,
  kNumHiddens = 32,
  kHiddenSize = 64,
  kNumHeads = 4,
  kNumBlocks = 2,
  kMaxLen = 100,
  kNumSteps = 6
};
enum { kNumSentences = 2, kNumWords = 6, kBegin = 1 /* the token before the first one */ };
static const float kScale = 5.656854249f; /* of an embedding: the root of kNumHiddens */

static heed_context* context;

/* The tensors of the program, which are freed at its end. A program that goes on frees them after each step. */
static heed_tensor* tensors[1024];
static int num_tensors;

static heed_tensor* keep(heed_tensor* tensor) {
  tensors[num_tensors++] = tensor;
  return tensor;
}

static heed_tensor* new_tensor(heed_dtype dtype, int32_t rank, const int64_t* dims) {
  heed_tensor* tensor = NULL;
  CHECK(heed_tensor_create(context, dtype, rank, dims, &tensor));
  return keep(tensor);
}

/* The output of a layer. Its first call draws random parameters; a program with a trained model loads them with
 * heed_layer_load. */
static heed_tensor* forward(heed_layer* layer, heed_tensor* x, heed_tensor* keys, heed_tensor* valid_lens) {
  static uint64_t seed = 20;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.queries = x;
  inputs.keys = keys; /* the values, too */
  inputs.valid_lens = valid_lens;
  if (!heed_layer_is_initialized(layer)) CHECK(heed_layer_initialize(layer, &inputs, seed++));
  CHECK(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_layer_forward(layer, &inputs, NULL, &outputs));
  return keep(outputs.output);
}

static heed_tensor* forward_rows(heed_layer* layer, heed_tensor* x) { return forward(layer, x, NULL, NULL); }

static heed_tensor* add(const heed_tensor* a, const heed_tensor* b) {
  const int64_t dims[] = {heed_tensor_dim(a, 0), heed_tensor_dim(a, 1), heed_tensor_dim(a, 2)};
  heed_tensor* sum = new_tensor(HEED_F32, 3, dims);
  CHECK(heed_add(a, b, sum));
  return sum;
}

/* Tensors (sentences, rows, ...), one behind the other along the rows. */
static heed_tensor* join_rows(const heed_tensor* const* parts, int64_t num_parts) {
  int64_t dims[3] = {kNumSentences, 0, 0};
  const int32_t rank = heed_tensor_rank(parts[0]);
  heed_tensor* joined = NULL;
  for (int64_t i = 0; i < num_parts; ++i) dims[1] += heed_tensor_dim(parts[i], 1);
  if (rank == 3) dims[2] = heed_tensor_dim(parts[0], 2);
  joined = new_tensor(heed_tensor_dtype(parts[0]), rank, dims);
  CHECK(heed_concatenate(parts, num_parts, 1, joined));
  return joined;
}

/* ---- the parts ------------------------------------------------------------------------------------------------------ */

static heed_multi_head_attention_options attention_options(int32_t causal) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = kNumHiddens;
  options.num_heads = kNumHeads;
  options.causal = causal;
  return options;
}

static heed_layer* create_attention(void) {
  const heed_multi_head_attention_options options = attention_options(HEED_CAUSAL_NONE);
  heed_layer* attention = NULL;
  CHECK(heed_multi_head_attention_create(context, &options, &attention));
  return attention;
}

static heed_layer* create_linear(int64_t size) {
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  heed_layer* linear = NULL;
  options.output_size = size;
  CHECK(heed_linear_create(context, &options, &linear));
  return linear;
}

static heed_layer* create_norm(void) {
  heed_layer* norm = NULL;
  CHECK(heed_layer_norm_create(context, NULL, &norm));
  return norm;
}

static heed_embedding_options embedding_options(void) {
  heed_embedding_options options = HEED_EMBEDDING_OPTIONS_INIT;
  options.num_embeddings = kNumTokens;
  options.embedding_size = kNumHiddens;
  options.scale = kScale;
  return options;
}

static heed_layer* create_embedding(void) {
  const heed_embedding_options options = embedding_options();
  heed_layer* embedding = NULL;
  CHECK(heed_embedding_create(context, &options, &embedding));
  return embedding;
}

/* The norm of x + y. */
static heed_tensor* add_norm(heed_layer* norm, const heed_tensor* x, const heed_tensor* y) {
  return forward_rows(norm, add(x, y));
}

/* Two linear layers with a ReLU between them, applied to each position alike. */
typedef struct PositionWiseFfn {
  heed_layer *dense_1, *dense_2;
} PositionWiseFfn;

static heed_tensor* forward_ffn(PositionWiseFfn ffn, heed_tensor* x) {
  heed_tensor* hidden = forward_rows(ffn.dense_1, x);
  const int64_t dims[] = {heed_tensor_dim(x, 0), heed_tensor_dim(x, 1), kHiddenSize};
  heed_tensor* activated = new_tensor(HEED_F32, 3, dims);
  CHECK(heed_activation(hidden, HEED_ACTIVATION_RELU, activated));
  return forward_rows(ffn.dense_2, activated);
}

/* Self-attention and a feed-forward network, each with a residual and a norm. */
typedef struct EncoderBlock {
  heed_layer *attention, *norm_1, *norm_2;
  PositionWiseFfn ffn;
} EncoderBlock;

static heed_tensor* forward_encoder_block(const EncoderBlock* block, heed_tensor* x, heed_tensor* valid_lens) {
  heed_tensor* y = add_norm(block->norm_1, x, forward(block->attention, x, NULL, valid_lens));
  return add_norm(block->norm_2, y, forward_ffn(block->ffn, y));
}

/* The same with attention to the encoder's output between them. */
typedef struct DecoderBlock {
  heed_layer *attention_1, *norm_1, *attention_2, *norm_2, *norm_3;
  PositionWiseFfn ffn;
  heed_tensor* rows; /* of all steps up to now; NULL before the first */
} DecoderBlock;

/* For each row of x how many of the first rows it sees: those of the steps before, and those of x up to itself. */
static heed_tensor* visible_rows(const heed_tensor* x, int64_t num_before) {
  const int64_t dims[] = {kNumSentences, heed_tensor_dim(x, 1)};
  heed_tensor* of_one = new_tensor(HEED_I32, 1, dims + 1);
  heed_tensor* of_all = new_tensor(HEED_I32, 2, dims);
  CHECK(heed_tensor_fill_arange(of_one, (double)num_before + 1, 1.0));
  CHECK(heed_tensor_copy(of_all, of_one));
  return of_all;
}

static heed_tensor* forward_decoder_block(DecoderBlock* block, heed_tensor* x, heed_tensor* memory,
                                          heed_tensor* valid_lens) {
  const int64_t num_before = block->rows == NULL ? 0 : heed_tensor_dim(block->rows, 1);
  const heed_tensor* parts[] = {block->rows, x};
  heed_tensor *y = NULL, *z = NULL;
  block->rows = block->rows == NULL ? x : join_rows(parts, 2);
  y = add_norm(block->norm_1, x, forward(block->attention_1, x, block->rows, visible_rows(x, num_before)));
  z = add_norm(block->norm_2, y, forward(block->attention_2, y, memory, valid_lens));
  return add_norm(block->norm_3, z, forward_ffn(block->ffn, z));
}

typedef struct Transformer {
  heed_layer *encoder_embedding, *decoder_embedding, *dense;
  heed_tensor* positions; /* (1, kMaxLen, kNumHiddens): a row of sines and cosines for each position */
  EncoderBlock encoder[kNumBlocks];
  DecoderBlock decoder[kNumBlocks];
} Transformer;

static PositionWiseFfn create_ffn(void) {
  PositionWiseFfn ffn;
  ffn.dense_1 = create_linear(kHiddenSize);
  ffn.dense_2 = create_linear(kNumHiddens);
  return ffn;
}

/* What a positional encoding adds to zeros. */
static heed_tensor* create_positions(void) {
  const int64_t dims[] = {1, kMaxLen, kNumHiddens};
  heed_positional_encoding_options options = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  heed_layer* encoding = NULL;
  heed_tensor* positions = NULL;
  options.size = kNumHiddens;
  options.max_positions = kMaxLen;
  CHECK(heed_positional_encoding_create(context, &options, &encoding));
  positions = forward_rows(encoding, new_tensor(HEED_F32, 3, dims));
  heed_layer_destroy(encoding);
  return positions;
}

static void create_transformer(Transformer* t) {
  t->encoder_embedding = create_embedding();
  t->decoder_embedding = create_embedding();
  t->dense = create_linear(kNumTokens);
  t->positions = create_positions();
  for (int i = 0; i < kNumBlocks; ++i) {
    const EncoderBlock encoder = {create_attention(), create_norm(), create_norm(), create_ffn()};
    const DecoderBlock decoder = {create_attention(), create_norm(), create_attention(), create_norm(), create_norm(),
                                  create_ffn(),       NULL};
    t->encoder[i] = encoder;
    t->decoder[i] = decoder;
  }
}

static void destroy_transformer(const Transformer* t) {
  enum { kNumLayers = 12 }; /* of two blocks */
  for (int i = 0; i < kNumBlocks; ++i) {
    const EncoderBlock* e = &t->encoder[i];
    const DecoderBlock* d = &t->decoder[i];
    heed_layer* const layers[kNumLayers] = {e->attention,   e->norm_1,      e->norm_2,      e->ffn.dense_1,
                                            e->ffn.dense_2, d->attention_1, d->norm_1,      d->attention_2,
                                            d->norm_2,      d->norm_3,      d->ffn.dense_1, d->ffn.dense_2};
    for (int j = 0; j < kNumLayers; ++j) heed_layer_destroy(layers[j]);
  }
  heed_layer_destroy(t->dense);
  heed_layer_destroy(t->decoder_embedding);
  heed_layer_destroy(t->encoder_embedding);
}

/* The rows of ids, of which the first is at position num_before. */
static heed_tensor* embed(const Transformer* t, heed_layer* embedding, heed_tensor* ids, int64_t num_before) {
  heed_tensor* positions = NULL;
  CHECK(heed_tensor_slice(t->positions, 1, num_before, heed_tensor_dim(ids, 1), &positions));
  return add(forward_rows(embedding, ids), keep(positions));
}

static heed_tensor* encode(const Transformer* t, heed_tensor* ids, heed_tensor* valid_lens) {
  heed_tensor* x = embed(t, t->encoder_embedding, ids, 0);
  for (int i = 0; i < kNumBlocks; ++i) x = forward_encoder_block(&t->encoder[i], x, valid_lens);
  return x;
}

/* The logits of the tokens behind the ids. */
static heed_tensor* decode(Transformer* t, heed_tensor* ids, heed_tensor* memory, heed_tensor* valid_lens) {
  const int64_t num_before = t->decoder[0].rows == NULL ? 0 : heed_tensor_dim(t->decoder[0].rows, 1);
  heed_tensor* x = embed(t, t->decoder_embedding, ids, num_before);
  for (int i = 0; i < kNumBlocks; ++i) x = forward_decoder_block(&t->decoder[i], x, memory, valid_lens);
  return forward_rows(t->dense, x);
}

/* The token with the largest logit in each row. */
static heed_tensor* best_tokens(const heed_tensor* logits) {
  const int64_t dims[] = {heed_tensor_dim(logits, 0), heed_tensor_dim(logits, 1)};
  heed_tensor* best = new_tensor(HEED_I64, 2, dims);
  CHECK(heed_reduce(HEED_REDUCE_ARGMAX, logits, 2, best));
  return best;
}

/* ---- heed's own ----------------------------------------------------------------------------------------------------- */

/* Sets the parameters of a whole whose names begin with the prefix to those of a part. */
static void give(const heed_layer* part, heed_layer* whole, const char* prefix, const char* child) {
  for (int64_t i = 0; i < heed_layer_parameter_count(part); ++i) {
    const char* name = heed_layer_parameter_name(part, i);
    char in_whole[128];
    heed_tensor* parameter = NULL;
    snprintf(in_whole, sizeof in_whole, "%s%s.%s", prefix, child, name);
    CHECK(heed_layer_parameter(part, name, &parameter));
    CHECK(heed_layer_set_parameter(whole, in_whole, parameter));
    heed_tensor_destroy(parameter);
  }
}

static void give_ffn(PositionWiseFfn ffn, heed_layer* whole, const char* prefix) {
  give(ffn.dense_1, whole, prefix, "feed_forward.W_1");
  give(ffn.dense_2, whole, prefix, "feed_forward.W_2");
}

static heed_layer* create_heeds_encoder(const Transformer* t) {
  const heed_multi_head_attention_options attention = attention_options(HEED_CAUSAL_NONE);
  const heed_embedding_options embedding = embedding_options();
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_positional_encoding_options positions = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  heed_encoder_layer_options block = HEED_ENCODER_LAYER_OPTIONS_INIT;
  heed_encoder_options options = HEED_ENCODER_OPTIONS_INIT;
  heed_layer* encoder = NULL;
  feed_forward.hidden_size = kHiddenSize;
  positions.max_positions = kMaxLen;
  block.attention = &attention;
  block.feed_forward = &feed_forward;
  options.layer = &block;
  options.num_layers = kNumBlocks;
  options.embedding = &embedding;
  options.positions = &positions;
  CHECK(heed_encoder_create(context, &options, &encoder));
  give(t->encoder_embedding, encoder, "", "embedding");
  for (int i = 0; i < kNumBlocks; ++i) {
    const EncoderBlock* ours = &t->encoder[i];
    char prefix[32];
    snprintf(prefix, sizeof prefix, "layers.%d.", i);
    give(ours->attention, encoder, prefix, "self_attention");
    give(ours->norm_1, encoder, prefix, "norm_1");
    give_ffn(ours->ffn, encoder, prefix);
    give(ours->norm_2, encoder, prefix, "norm_2");
  }
  return encoder;
}

static heed_layer* create_heeds_decoder(const Transformer* t) {
  const heed_multi_head_attention_options self_attention = attention_options(HEED_CAUSAL_BOTTOM_RIGHT);
  const heed_multi_head_attention_options cross_attention = attention_options(HEED_CAUSAL_NONE);
  const heed_embedding_options embedding = embedding_options();
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_positional_encoding_options positions = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  heed_output_options output = HEED_OUTPUT_OPTIONS_INIT;
  heed_decoder_layer_options block = HEED_DECODER_LAYER_OPTIONS_INIT;
  heed_decoder_options options = HEED_DECODER_OPTIONS_INIT;
  heed_layer* decoder = NULL;
  feed_forward.hidden_size = kHiddenSize;
  positions.max_positions = kMaxLen;
  output.size = kNumTokens;
  output.bias = 1;
  block.self_attention = &self_attention;
  block.cross_attention = &cross_attention;
  block.feed_forward = &feed_forward;
  options.layer = &block;
  options.num_layers = kNumBlocks;
  options.embedding = &embedding;
  options.positions = &positions;
  options.output = &output;
  CHECK(heed_decoder_create(context, &options, &decoder));
  give(t->decoder_embedding, decoder, "", "embedding");
  give(t->dense, decoder, "", "output");
  for (int i = 0; i < kNumBlocks; ++i) {
    const DecoderBlock* ours = &t->decoder[i];
    char prefix[32];
    snprintf(prefix, sizeof prefix, "layers.%d.", i);
    give(ours->attention_1, decoder, prefix, "self_attention");
    give(ours->norm_1, decoder, prefix, "norm_1");
    give(ours->attention_2, decoder, prefix, "cross_attention");
    give(ours->norm_2, decoder, prefix, "norm_2");
    give_ffn(ours->ffn, decoder, prefix);
    give(ours->norm_3, decoder, prefix, "norm_3");
  }
  return decoder;
}

static float largest_difference(const heed_tensor* a, const heed_tensor* b) {
  const int64_t dims[] = {heed_tensor_dim(a, 0), heed_tensor_dim(a, 1), heed_tensor_dim(a, 2)};
  heed_tensor* difference = new_tensor(HEED_F32, 3, dims);
  heed_tensor* largest = new_tensor(HEED_F32, 0, NULL);
  float result = 0;
  CHECK(heed_subtract(a, b, difference));
  CHECK(heed_elementwise(HEED_ELEMENTWISE_ABSOLUTE, difference, NULL, difference));
  CHECK(heed_reduce_axes(HEED_REDUCE_MAX, difference, NULL, 0, largest));
  CHECK(heed_tensor_read(largest, &result, sizeof result));
  return result;
}

int main(void) {
  static const int64_t ids[kNumSentences][kNumWords] = {{5, 11, 2, 9, 17, 3}, {8, 4, 20, 6, 0, 0}};
  static const int32_t lens[kNumSentences] = {6, 4};
  const int64_t dims[] = {kNumSentences, kNumWords}, begin_dims[] = {kNumSentences, 1};
  const heed_tensor *read[kNumSteps + 1], *logits[kNumSteps];
  int64_t of_steps[kNumSentences][kNumSteps], of_call[kNumSentences][kNumSteps];
  heed_tensor *sources = NULL, *valid_lens = NULL, *begins = NULL, *memory = NULL, *last = NULL, *of_all = NULL;
  heed_layer *encoder = NULL, *decoder = NULL;
  float of_encoder = 0, of_decoder = 0;
  int has_same_tokens = 1;
  Transformer transformer;

  CHECK(heed_context_create(NULL, &context));
  CHECK(heed_tensor_create_from(context, HEED_I64, 2, dims, ids, &sources));
  CHECK(heed_tensor_create_from(context, HEED_I32, 1, dims, lens, &valid_lens));
  keep(sources);
  keep(valid_lens);
  create_transformer(&transformer);
  memory = encode(&transformer, sources, valid_lens);
  encoder = create_heeds_encoder(&transformer);
  of_encoder = largest_difference(memory, forward(encoder, sources, NULL, valid_lens));
  printf("encoder: (%d, %d, %d), largest difference to heed's encoder %.1e\n", kNumSentences, kNumWords, kNumHiddens,
         of_encoder);

  /* Appends the token with the largest logit, again and again. */
  begins = new_tensor(HEED_I64, 2, begin_dims);
  CHECK(heed_tensor_fill(begins, kBegin));
  last = begins;
  for (int step = 0; step < kNumSteps; ++step) {
    heed_tensor* of_step = decode(&transformer, last, memory, valid_lens);
    read[step] = last;
    logits[step] = of_step;
    last = best_tokens(of_step);
  }
  read[kNumSteps] = last;
  CHECK(heed_tensor_read(join_rows(read + 1, kNumSteps), of_steps, sizeof of_steps));
  for (int i = 0; i < kNumSentences; ++i) {
    printf("sentence %d: tokens", i);
    for (int step = 0; step < kNumSteps; ++step) printf(" %d", (int)of_steps[i][step]);
    printf("\n");
  }

  /* heed's decoder reads the tokens of all steps in one call. */
  decoder = create_heeds_decoder(&transformer);
  of_all = forward(decoder, join_rows(read, kNumSteps), memory, valid_lens);
  of_decoder = largest_difference(join_rows(logits, kNumSteps), of_all);
  CHECK(heed_tensor_read(best_tokens(of_all), of_call, sizeof of_call));
  for (int i = 0; i < kNumSentences; ++i) {
    for (int step = 0; step < kNumSteps; ++step) has_same_tokens &= of_call[i][step] == of_steps[i][step];
  }
  printf("decoder: (%d, %d, %d), largest difference to heed's decoder %.1e; %s tokens\n", kNumSentences, kNumSteps,
         kNumTokens, of_decoder, has_same_tokens ? "the same" : "OTHER");

  heed_layer_destroy(decoder);
  heed_layer_destroy(encoder);
  destroy_transformer(&transformer);
  while (num_tensors > 0) heed_tensor_destroy(tensors[--num_tensors]);
  heed_context_destroy(context);
  return of_encoder < 1e-5f && of_decoder < 1e-5f && has_same_tokens ? 0 : 1; /* 1 for NaN */
}
