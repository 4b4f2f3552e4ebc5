/* SPDX-License-Identifier: Apache-2.0 */
/* Self-attention of an encoder, with rotary positions, over sentences of different lengths: padded to the longest, and
 * packed one after another without padding. Both give the same bits; packed, no padding is computed.
 *
 *   packed_encoder
 */
#include <heed/heed.h>
#include <stdio.h>
#include <string.h>

#include "example.h"

enum { kNumHiddens = 64, kNumHeads = 4, kNumSentences = 4, kLongest = 9, kNumWords = 18 };

static const int32_t kLengths[kNumSentences] = {5, 1, 9, 3};
/* Where each sentence begins in the packed words, and where the last one ends. */
static const int32_t kOffsets[kNumSentences + 1] = {0, 5, 6, 15, 18};

static heed_layer* create_attention(heed_context* context) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_layer* attention = NULL;
  rope.layout = HEED_ROPE_HALF;
  options.num_hiddens = kNumHiddens;
  options.num_heads = kNumHeads;
  options.rope = &rope; /* copied */
  CHECK(heed_multi_head_attention_create(context, &options, &attention));
  return attention;
}

static heed_tensor* create_numbers(heed_context* context, int64_t count, const int32_t* numbers) {
  heed_tensor* tensor = NULL;
  CHECK(heed_tensor_create_from(context, HEED_I32, 1, &count, numbers, &tensor));
  return tensor;
}

/* The words of each sentence at the beginning of its rows; zeros behind them. */
static heed_tensor* create_padded(heed_context* context, float (*words)[kNumHiddens]) {
  static float rows[kNumSentences][kLongest][kNumHiddens];
  const int64_t dims[] = {kNumSentences, kLongest, kNumHiddens};
  heed_tensor* padded = NULL;
  for (int b = 0; b < kNumSentences; ++b) memcpy(rows[b], words[kOffsets[b]], (size_t)kLengths[b] * sizeof *words);
  CHECK(heed_tensor_create_from(context, HEED_F32, 3, dims, rows, &padded));
  return padded;
}

/* Writes the output to `rows`. */
static void forward(const heed_layer* attention, const heed_layer_inputs* inputs, void* rows, size_t num_bytes) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  CHECK(heed_layer_create_outputs(attention, inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_layer_forward(attention, inputs, NULL, &outputs));
  CHECK(heed_tensor_read(outputs.output, rows, num_bytes));
  heed_tensor_destroy(outputs.output);
}

int main(void) {
  static float words[kNumWords][kNumHiddens], of_packed[kNumWords][kNumHiddens];
  static float of_padded[kNumSentences][kLongest][kNumHiddens];
  const int64_t dims[] = {kNumWords, kNumHiddens};
  heed_context* context = NULL;
  heed_layer* attention = NULL;
  heed_tensor *packed = NULL, *offsets = NULL, *padded = NULL, *lengths = NULL;
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  heed_layer_inputs of_all = HEED_LAYER_INPUTS_INIT, of_each = HEED_LAYER_INPUTS_INIT;
  int is_same = 1;

  CHECK(heed_context_create(NULL, &context));
  attention = create_attention(context);
  CHECK(heed_tensor_create(context, HEED_F32, 2, dims, &packed));
  CHECK(heed_tensor_fill_normal(packed, 0.0, 1.0, 7)); /* a program's embeddings */
  CHECK(heed_tensor_read(packed, words, sizeof words));
  offsets = create_numbers(context, kNumSentences + 1, kOffsets);
  padded = create_padded(context, words);
  lengths = create_numbers(context, kNumSentences, kLengths);

  of_each.queries = padded; /* keys and values default to the queries */
  of_each.valid_lens = lengths;
  CHECK(heed_layer_initialize(attention, &of_each, 42)); /* a program's weights: heed_layer_load */
  forward(attention, &of_each, of_padded, sizeof of_padded);
  printf("padded: %d rows, %d of them padding\n", kNumSentences * kLongest, kNumSentences * kLongest - kNumWords);

  sequences.query_offsets = offsets;
  of_all.queries = packed;
  of_all.sequences = &sequences;
  forward(attention, &of_all, of_packed, sizeof of_packed);
  printf("packed: %d rows\n", kNumWords);

  for (int b = 0; b < kNumSentences; ++b) {
    is_same = is_same && memcmp(of_padded[b], of_packed[kOffsets[b]], (size_t)kLengths[b] * sizeof *of_packed) == 0;
  }
  printf("the rows of words have %s bits\n", is_same ? "the same" : "DIFFERENT");

  heed_tensor_destroy(lengths);
  heed_tensor_destroy(padded);
  heed_tensor_destroy(offsets);
  heed_tensor_destroy(packed);
  heed_layer_destroy(attention);
  heed_context_destroy(context);
  return is_same ? 0 : 1;
}
