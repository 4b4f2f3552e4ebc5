/* SPDX-License-Identifier: Apache-2.0 */
#include "learner.h"

#include <math.h>
#include <string.h>

#include "example.h"

enum { kNumHiddens = 32, kNumHeads = 4, kHiddenSize = 64 };

static heed_multi_head_attention_options attention_options(int32_t causal) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = kNumHiddens;
  options.num_heads = kNumHeads;
  options.causal = causal;
  return options;
}

/* What both passes read. `sequences` belongs to the inputs, and lives as long. */
static heed_layer_inputs inputs_of(const Batch* batch, heed_sequence_inputs* sequences) {
  const heed_sequence_inputs no_sequences = HEED_SEQUENCE_INPUTS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  *sequences = no_sequences;
  sequences->query_lens = batch->target_lens;
  inputs.queries = batch->target;
  inputs.keys = batch->source;
  inputs.valid_lens = batch->source_lens;
  inputs.sequences = sequences;
  inputs.training = 1;
  return inputs;
}

/* Draws a matrix of c columns uniformly from -1 / sqrt(c) to 1 / sqrt(c), as PyTorch's linear layers begin. Such numbers are
 * smaller than those of heed_layer_initialize, with which the first attention would see hardly more than one key. The bound
 * is a float, as it is in the programs in Java and C#, which have the same numbers. */
static void draw_matrix(heed_context* context, heed_layer* layer, const char* name, const heed_tensor* shape,
                        uint64_t seed) {
  const int64_t dims[] = {heed_tensor_dim(shape, 0), heed_tensor_dim(shape, 1)};
  const float bound = (float)(1 / sqrt((double)dims[1]));
  heed_tensor* matrix = NULL;
  CHECK(heed_tensor_create(context, HEED_F32, 2, dims, &matrix));
  CHECK(heed_tensor_fill_uniform(matrix, -bound, bound, seed));
  CHECK(heed_layer_set_parameter(layer, name, matrix));
  heed_tensor_destroy(matrix);
}

/* New parameters: random matrices, biases of 0, weights of norms of 1. */
static void initialize(heed_context* context, heed_layer* transformer) {
  const Batch shapes = create_batch(context, 1);
  heed_sequence_inputs sequences;
  const heed_layer_inputs inputs = inputs_of(&shapes, &sequences);
  CHECK(heed_layer_initialize(transformer, &inputs, 0));
  for (int64_t i = 0; i < heed_layer_parameter_count(transformer); ++i) {
    const char* name = heed_layer_parameter_name(transformer, i);
    heed_tensor* shape = NULL;
    CHECK(heed_layer_parameter_shape(transformer, name, &shape));
    if (heed_tensor_rank(shape) == 2) draw_matrix(context, transformer, name, shape, (uint64_t)i + 1);
    heed_tensor_destroy(shape);
  }
  destroy_batch(&shapes);
}

heed_layer* create_transformer(heed_context* context) {
  const heed_multi_head_attention_options attention = attention_options(HEED_CAUSAL_NONE);
  const heed_multi_head_attention_options self_attention = attention_options(HEED_CAUSAL_BOTTOM_RIGHT);
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_encoder_layer_options encoder_layer = HEED_ENCODER_LAYER_OPTIONS_INIT;
  heed_decoder_layer_options decoder_layer = HEED_DECODER_LAYER_OPTIONS_INIT;
  heed_embedding_options embedding = HEED_EMBEDDING_OPTIONS_INIT;
  heed_positional_encoding_options positions = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  heed_output_options output = HEED_OUTPUT_OPTIONS_INIT;
  heed_encoder_options encoder = HEED_ENCODER_OPTIONS_INIT;
  heed_decoder_options decoder = HEED_DECODER_OPTIONS_INIT;
  heed_transformer_options options = HEED_TRANSFORMER_OPTIONS_INIT;
  heed_layer* transformer = NULL;

  feed_forward.hidden_size = kHiddenSize;
  encoder_layer.attention = &attention;
  encoder_layer.feed_forward = &feed_forward;
  decoder_layer.self_attention = &self_attention;
  decoder_layer.cross_attention = &attention;
  decoder_layer.feed_forward = &feed_forward;
  positions.max_positions = kMaxRows;
  encoder.layer = &encoder_layer;
  encoder.num_layers = 1;
  encoder.positions = &positions;
  decoder.layer = &decoder_layer;
  decoder.num_layers = 1;
  decoder.positions = &positions;
  embedding.num_embeddings = kNumTokens;
  embedding.scale = 5.656854249f; /* the root of kNumHiddens */
  output.size = kNumTokens;
  output.bias = 1;
  options.encoder = &encoder;
  options.decoder = &decoder;
  options.embedding = &embedding; /* of both, which read the same tokens */
  options.output = &output;
  CHECK(heed_transformer_create(context, &options, &transformer));
  initialize(context, transformer);
  return transformer;
}

Pass create_pass(heed_context* context, const heed_layer* transformer, const Batch* batch) {
  heed_sequence_inputs sequences;
  const heed_layer_inputs inputs = inputs_of(batch, &sequences);
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  Pass pass = {NULL, NULL};
  size_t num_bytes = 0;
  CHECK(heed_layer_create_outputs(transformer, &inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_layer_saved_size(transformer, &inputs, &num_bytes));
  CHECK(heed_saved_create(context, num_bytes, &pass.saved));
  pass.logits = outputs.output;
  return pass;
}

void destroy_pass(const Pass* pass) {
  heed_saved_destroy(pass->saved);
  heed_tensor_destroy(pass->logits);
}

double compute_gradients(const heed_layer* transformer, const Batch* batch, const Pass* pass, int32_t reduction,
                         heed_gradients* gradients) {
  heed_sequence_inputs sequences;
  const heed_layer_inputs inputs = inputs_of(batch, &sequences);
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_cross_entropy_options loss = HEED_CROSS_ENTROPY_OPTIONS_INIT;
  heed_layer_gradients of_call = HEED_LAYER_GRADIENTS_INIT;
  double total = 0;
  outputs.output = pass->logits;
  outputs.saved = pass->saved;
  CHECK(heed_layer_forward(transformer, &inputs, NULL, &outputs));
  /* The gradient by the logits takes their place. */
  loss.reduction = reduction;
  CHECK(heed_cross_entropy(pass->logits, batch->labels, batch->target_lens, &loss, NULL, &total, pass->logits));
  of_call.output = pass->logits;
  of_call.parameters = gradients;
  outputs.output = NULL;
  CHECK(heed_layer_backward(transformer, &inputs, &outputs, NULL, &of_call));
  return total;
}

heed_optimizer* create_optimizer(heed_context* context) {
  heed_adamw_options options = HEED_ADAMW_OPTIONS_INIT;
  heed_optimizer* optimizer = NULL;
  options.learning_rate = 3e-3;
  CHECK(heed_adamw_create(context, &options, &optimizer));
  return optimizer;
}

void take_step(heed_optimizer* optimizer, heed_layer* transformer, heed_gradients* gradients) {
  CHECK(heed_gradients_clip(&gradients, 1, 1.0, NULL));
  CHECK(heed_optimizer_step(optimizer, transformer, gradients));
}

/* The encoder's output, (sequences, kMaxSymbols, kNumHiddens). */
static heed_tensor* encode(const heed_layer* transformer, const Batch* batch) {
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.keys = batch->source;
  inputs.valid_lens = batch->source_lens;
  CHECK(heed_layer_create_outputs(transformer, &inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_layer_forward(transformer, &inputs, NULL, &outputs));
  return outputs.output;
}

/* The tokens that the Transformer writes, (sequences, kMaxRows). The target's rows up to one decide the token that follows
 * it; rows behind it are computed in vain. A decoder with a cache computes each row once (docs/caches.md). */
static heed_tensor* write_greedily(heed_context* context, const heed_layer* transformer, const Batch* batch) {
  const int64_t num_sequences = heed_tensor_dim(batch->target, 0), dims[] = {num_sequences, kMaxRows};
  heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_tensor *memory = encode(transformer, batch), *written = NULL;
  int64_t* target = heed_tensor_data(batch->target);
  decoder.memory = memory;
  inputs.queries = batch->target;
  inputs.valid_lens = batch->source_lens;
  inputs.decoder = &decoder;
  CHECK(heed_layer_create_outputs(transformer, &inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_tensor_create(context, HEED_I64, 2, dims, &written));
  for (int64_t row = 0; row < kMaxRows; ++row) {
    const int64_t* tokens = heed_tensor_data(written);
    CHECK(heed_layer_forward(transformer, &inputs, NULL, &outputs));
    CHECK(heed_reduce(HEED_REDUCE_ARGMAX, outputs.output, 2, written));
    if (row + 1 == kMaxRows) break;
    for (int64_t n = 0; n < num_sequences; ++n) target[n * kMaxRows + row + 1] = tokens[n * kMaxRows + row];
  }
  heed_tensor_destroy(outputs.output);
  heed_tensor_destroy(memory);
  return written;
}

double share_written_right(heed_context* context, const heed_layer* transformer, const Batch* batch) {
  const int64_t num_sequences = heed_tensor_dim(batch->target, 0);
  const int64_t* labels = heed_tensor_data(batch->labels);
  const int64_t* lens = heed_tensor_data(batch->target_lens);
  heed_tensor* written = write_greedily(context, transformer, batch);
  const int64_t* tokens = heed_tensor_data(written);
  int64_t num_right = 0;
  for (int64_t n = 0; n < num_sequences; ++n, labels += kMaxRows, tokens += kMaxRows) {
    num_right += memcmp(tokens, labels, (size_t)lens[n] * sizeof *labels) == 0;
  }
  heed_tensor_destroy(written);
  return (double)num_right / (double)num_sequences;
}
