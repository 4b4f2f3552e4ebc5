/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../c/example.h"

static heed_layer* create_layer(heed_context* context, int32_t causal) {
  const int64_t dims[] = {1, 1, kNumHiddens};
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer* layer = NULL;
  heed_tensor* row = NULL;
  rope.layout = HEED_ROPE_HALF;
  options.num_hiddens = kNumHiddens;
  options.num_heads = kNumHeads;
  options.num_kv_heads = kNumKvHeads;
  options.no_output_projection = 1;
  options.causal = causal;
  options.rope = &rope;
  CHECK(heed_multi_head_attention_create(context, &options, &layer));
  CHECK(heed_tensor_wrap(context, HEED_F32, 3, dims, NULL, NULL, NULL, NULL, &row)); /* a shape without elements */
  inputs.queries = row;
  CHECK(heed_layer_initialize(layer, &inputs, 42)); /* a program's weights: heed_layer_load */
  heed_tensor_destroy(row);
  return layer;
}

Attention create_attention(void) {
  const int64_t num_heads = kNumHeads;
  Attention attention;
  CHECK(heed_context_create(NULL, &attention.context));
  attention.to_earlier_rows = create_layer(attention.context, HEED_CAUSAL_NONE);
  attention.to_own_rows = create_layer(attention.context, HEED_CAUSAL_BOTTOM_RIGHT);
  CHECK(heed_tensor_create(attention.context, HEED_F32, 1, &num_heads, &attention.sinks));
  /* So large that they count beside a thousand keys. */
  CHECK(heed_tensor_fill_uniform(attention.sinks, 6.0, 8.0, 5));
  return attention;
}

void destroy_attention(const Attention* attention) {
  heed_tensor_destroy(attention->sinks);
  heed_layer_destroy(attention->to_own_rows);
  heed_layer_destroy(attention->to_earlier_rows);
  heed_context_destroy(attention->context);
}

int64_t num_rows_of(Range range) { return range.end - range.begin; }

Range part_of(Range range, int index, int num_parts) {
  const int64_t num_rows = num_rows_of(range);
  const Range part = {range.begin + num_rows * index / num_parts, range.begin + num_rows * (index + 1) / num_parts};
  return part;
}

float* allocate(int64_t num_elements) {
  float* memory = malloc((size_t)num_elements * sizeof(float) + 1);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  return memory;
}

float* create_sequence(const Attention* attention, int64_t num_rows) {
  const int64_t dims[] = {num_rows, kNumHiddens};
  float* sequence = allocate(num_rows * kNumHiddens);
  heed_tensor* rows = NULL;
  CHECK(heed_tensor_create(attention->context, HEED_F32, 2, dims, &rows));
  CHECK(heed_tensor_fill_normal(rows, 0.0, 1.0, 7));
  CHECK(heed_tensor_read(rows, sequence, heed_tensor_num_bytes(rows)));
  heed_tensor_destroy(rows);
  return sequence;
}

heed_cache* create_shard(const Attention* attention, int64_t capacity) {
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  heed_cache* shard = NULL;
  options.num_kv_heads = kNumKvHeads;
  options.head_size = kHeadSize;
  options.capacity = capacity > 0 ? capacity : 1; /* with more ranks than rows a shard may be empty */
  CHECK(heed_cache_create(attention->context, &options, &shard));
  return shard;
}

/* The rows of a call, (1, num_rows, kNumHiddens), and the position of each. */
typedef struct Rows {
  heed_tensor* elements;
  heed_tensor* positions;
  heed_sequence_inputs sequences;
} Rows;

static void create_rows(heed_context* context, const float* elements, Range range, Rows* rows) {
  const heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  const int64_t dims[] = {1, num_rows_of(range), kNumHiddens};
  int64_t* positions = NULL;
  rows->elements = rows->positions = NULL;
  CHECK(heed_tensor_create_from(context, HEED_F32, 3, dims, elements, &rows->elements));
  CHECK(heed_tensor_create(context, HEED_I64, 2, dims, &rows->positions));
  positions = heed_tensor_data(rows->positions);
  for (int64_t i = 0; i < num_rows_of(range); ++i) positions[i] = range.begin + i;
  rows->sequences = sequences;
  rows->sequences.positions = rows->positions;
}

static void destroy_rows(const Rows* rows) {
  heed_tensor_destroy(rows->positions);
  heed_tensor_destroy(rows->elements);
}

void fill_shard(const Attention* attention, heed_cache* shard, const float* sequence, Range range) {
  heed_cache_inputs of_cache = HEED_CACHE_INPUTS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  Rows rows;
  create_rows(attention->context, sequence + range.begin * kNumHiddens, range, &rows);
  of_cache.cache = shard;
  inputs.keys = rows.elements;
  inputs.sequences = &rows.sequences;
  inputs.cache = &of_cache;
  CHECK(heed_layer_fill_cache(attention->to_earlier_rows, &inputs, NULL));
  destroy_rows(&rows);
}

int64_t partial_size(int64_t num_rows) { return num_rows * (kOutputSize + kNumHeads); }

/* A tensor over the program's memory. */
static heed_tensor* wrap(heed_context* context, int32_t rank, const int64_t* dims, const int64_t* strides,
                         float* elements) {
  heed_tensor* tensor = NULL;
  CHECK(heed_tensor_wrap(context, HEED_F32, rank, dims, strides, elements, NULL, NULL, &tensor));
  return tensor;
}

void attend_to_shard(const Attention* attention, heed_cache* shard, int owns_rows, const float* rows, Range range,
                     float* partial) {
  const int64_t num_rows = num_rows_of(range);
  const int64_t output_dims[] = {1, num_rows, kOutputSize}, log_sum_exp_dims[] = {1, kNumHeads, num_rows};
  heed_cache_inputs of_cache = HEED_CACHE_INPUTS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  Rows queries;
  if (num_rows == 0) return;
  create_rows(attention->context, rows, range, &queries);
  of_cache.cache = shard;
  of_cache.use = owns_rows ? HEED_CACHE_APPEND : HEED_CACHE_READ;
  inputs.queries = queries.elements;
  inputs.sequences = &queries.sequences;
  inputs.cache = &of_cache;
  outputs.output = wrap(attention->context, 3, output_dims, NULL, partial);
  outputs.log_sum_exp = wrap(attention->context, 3, log_sum_exp_dims, NULL, partial + num_rows * kOutputSize);
  CHECK(heed_layer_forward(owns_rows ? attention->to_own_rows : attention->to_earlier_rows, &inputs, NULL, &outputs));
  heed_tensor_destroy(outputs.log_sum_exp);
  heed_tensor_destroy(outputs.output);
  destroy_rows(&queries);
}

/* Outputs (num_rows, H * D) as (H, num_rows, D). */
static heed_tensor* heads_of(heed_context* context, float* output, int64_t num_rows) {
  const int64_t dims[] = {kNumHeads, num_rows, kHeadSize}, strides[] = {kHeadSize, kOutputSize, 1};
  return wrap(context, 3, dims, strides, output);
}

void merge(const Attention* attention, float* partials, int num_parts, int64_t num_rows, float* output) {
  const int64_t log_sum_exp_dims[] = {kNumHeads, num_rows};
  const heed_tensor** outputs = malloc((size_t)num_parts * sizeof(heed_tensor*));
  const heed_tensor** log_sum_exps = malloc((size_t)num_parts * sizeof(heed_tensor*));
  heed_tensor* merged = heads_of(attention->context, output, num_rows);
  if (outputs == NULL || log_sum_exps == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  for (int n = 0; n < num_parts; ++n) {
    float* partial = partials + n * partial_size(num_rows);
    outputs[n] = heads_of(attention->context, partial, num_rows);
    log_sum_exps[n] = wrap(attention->context, 2, log_sum_exp_dims, NULL, partial + num_rows * kOutputSize);
  }
  CHECK(heed_attention_merge(outputs, log_sum_exps, num_parts, attention->sinks, merged, NULL));
  for (int n = 0; n < num_parts; ++n) {
    heed_tensor_destroy((heed_tensor*)log_sum_exps[n]);
    heed_tensor_destroy((heed_tensor*)outputs[n]);
  }
  heed_tensor_destroy(merged);
  free(log_sum_exps);
  free(outputs);
}
