/* SPDX-License-Identifier: Apache-2.0 */
/* Self-attention of four words, small enough to follow with a pencil.
 *
 * In NumPy, the program that many introductions to attention end with:
 *
 *   words = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
 *   np.random.seed(42)
 *   W_Q, W_K, W_V = (np.random.randint(3, size=(3, 3)) for _ in range(3))
 *   Q, K, V = words @ W_Q, words @ W_K, words @ W_V
 *   weights = softmax(Q @ K.T / np.sqrt(3))           # of each row
 *   print(weights @ V)
 *
 * In heed that is multi-head attention with one head and without the projection that would mix the heads: the layer
 * multiplies the words by its three matrices, divides by the root of the head's size, 3, and takes the softmax.
 */
#include <heed/heed.h>
#include <stdio.h>

#include "example.h"

enum { kNumWords = 4, kSize = 3 };

static const float kWords[kNumWords][kSize] = {{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 1}};

/* W_Q, W_K and W_V as NumPy draws them. Row e holds what component e of a word adds to its query, key or value. */
static const float kToQueries[kSize][kSize] = {{2, 0, 2}, {2, 0, 0}, {2, 1, 2}};
static const float kToKeys[kSize][kSize] = {{2, 2, 2}, {0, 2, 1}, {0, 1, 1}};
static const float kToValues[kSize][kSize] = {{1, 1, 0}, {0, 1, 1}, {0, 0, 0}};

/* The tutorial's matrices are (in, out), for words @ W. heed's parameters are (out, in), as PyTorch's: the view that
 * exchanges the axes is one, and copies nothing. */
static void set_matrix(heed_context* context, heed_layer* attention, const char* name, const float (*matrix)[kSize]) {
  const int64_t dims[] = {kSize, kSize};
  heed_tensor *in_out = NULL, *out_in = NULL;
  CHECK(heed_tensor_create_from(context, HEED_F32, 2, dims, matrix, &in_out));
  CHECK(heed_tensor_transpose(in_out, NULL, &out_in));
  CHECK(heed_layer_set_parameter(attention, name, out_in)); /* the layer keeps a copy */
  heed_tensor_destroy(out_in);
  heed_tensor_destroy(in_out);
}

static heed_layer* create_attention(heed_context* context) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_layer* attention = NULL;
  options.num_hiddens = kSize;
  options.num_heads = 1;
  options.no_output_projection = 1;
  CHECK(heed_multi_head_attention_create(context, &options, &attention));
  set_matrix(context, attention, "W_q.weight", kToQueries);
  set_matrix(context, attention, "W_k.weight", kToKeys);
  set_matrix(context, attention, "W_v.weight", kToValues);
  return attention;
}

int main(void) {
  const int64_t dims[] = {1, kNumWords, kSize}; /* one sentence */
  float rows[kNumWords][kSize];
  heed_context* context = NULL;
  heed_layer* attention = NULL;
  heed_tensor* words = NULL;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;

  CHECK(heed_context_create(NULL, &context));
  attention = create_attention(context);
  CHECK(heed_tensor_create_from(context, HEED_F32, 3, dims, kWords, &words));

  inputs.queries = words; /* keys and values default to the queries: self-attention */
  CHECK(heed_layer_create_outputs(attention, &inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_layer_forward(attention, &inputs, NULL, &outputs));
  CHECK(heed_tensor_read(outputs.output, rows, sizeof rows));
  for (int word = 0; word < kNumWords; ++word) {
    printf("%.5f %.5f %.5f\n", rows[word][0], rows[word][1], rows[word][2]);
  }

  heed_tensor_destroy(outputs.output);
  heed_tensor_destroy(words);
  heed_layer_destroy(attention);
  heed_context_destroy(context);
  return 0;
}
