/* SPDX-License-Identifier: Apache-2.0 */
#include "one_process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../c/example.h"

/* What attend_by_broadcast computes, without MPI. `output` gets the rows of all calls. */
static void attend_to_all_shards(const Attention* attention, const float* sequence, int num_shards, const Range* calls,
                                 int num_calls, float* output) {
  const Range filled = {0, calls[0].begin};
  const int64_t num_new = calls[num_calls - 1].end - calls[0].begin;
  heed_cache** shards = malloc((size_t)num_shards * sizeof(heed_cache*));
  float* partials = allocate(num_shards * partial_size(num_new));
  if (shards == NULL) exit(1);
  for (int n = 0; n < num_shards; ++n) {
    const Range part = part_of(filled, n, num_shards);
    shards[n] = create_shard(attention, num_rows_of(part) + num_new);
    fill_shard(attention, shards[n], sequence, part);
  }
  for (int i = 0; i < num_calls; ++i) {
    const int64_t num_rows = num_rows_of(calls[i]);
    for (int n = 0; n < num_shards; ++n) {
      attend_to_shard(attention, shards[n], n == num_shards - 1, sequence + calls[i].begin * kNumHiddens, calls[i],
                      partials + n * partial_size(num_rows));
    }
    merge(attention, partials, num_shards, num_rows, output + (calls[i].begin - calls[0].begin) * kOutputSize);
  }
  for (int n = 0; n < num_shards; ++n) heed_cache_destroy(shards[n]);
  free(partials);
  free(shards);
}

/* One call over rows 0 to num_rows - 1, which are appended to an empty cache; `output` gets the results of all. */
static void attend_at_once(const Attention* attention, heed_cache* cache, heed_tensor* rows, float* output) {
  heed_cache_inputs of_cache = HEED_CACHE_INPUTS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  of_cache.cache = cache;
  inputs.queries = rows;
  inputs.sinks = attention->sinks;
  inputs.cache = &of_cache;
  CHECK(heed_layer_create_outputs(attention->to_own_rows, &inputs, HEED_WANT_OUTPUT, &outputs));
  CHECK(heed_layer_forward(attention->to_own_rows, &inputs, NULL, &outputs));
  CHECK(heed_tensor_read(outputs.output, output, heed_tensor_num_bytes(outputs.output)));
  heed_tensor_destroy(outputs.output);
}

/* The largest Euclidean norm of the vectors of `size` elements that the tensor consists of. */
static double largest_norm(const heed_tensor* tensor, int64_t size) {
  const int64_t num_elements = heed_tensor_num_elements(tensor);
  float* elements = allocate(num_elements);
  double largest = 0;
  CHECK(heed_tensor_read(tensor, elements, heed_tensor_num_bytes(tensor)));
  for (int64_t begin = 0; begin < num_elements; begin += size) {
    double sum = 0;
    for (int64_t i = begin; i < begin + size; ++i) sum += (double)elements[i] * elements[i];
    if (sum > largest) largest = sum;
  }
  free(elements);
  return sqrt(largest);
}

/* The largest norm of a query in a head. Rotary positions do not change it. */
static double largest_query(const Attention* attention, const heed_tensor* rows) {
  const int64_t num_rows = heed_tensor_dim(rows, 1);
  const int64_t dims[] = {1, num_rows, kOutputSize};
  heed_tensor *weight = NULL, *transposed = NULL, *queries = NULL;
  double largest = 0;
  CHECK(heed_layer_parameter(attention->to_own_rows, "W_q.weight", &weight));
  CHECK(heed_tensor_transpose(weight, NULL, &transposed));
  CHECK(heed_tensor_create(attention->context, HEED_F32, 3, dims, &queries));
  CHECK(heed_matmul(rows, transposed, queries));
  largest = largest_norm(queries, kHeadSize);
  heed_tensor_destroy(queries);
  heed_tensor_destroy(transposed);
  heed_tensor_destroy(weight);
  return largest;
}

/* Both ways read queries, keys and values of the same bits. By rule 15 of docs/semantics.md each attention to them, that to
 * all rows and that to a shard, is within `of_attention` of the exact one, and its log_sum_exp within f. By its section on
 * merging, errors f change the weights of parts by a factor of up to exp(2 f), and merging rounds as often as stated. */
static double bound_of(const Attention* attention, const heed_cache* cache, const heed_tensor* rows, int num_shards) {
  const int64_t num_rows = heed_tensor_dim(rows, 1);
  const int64_t dims[] = {kNumKvHeads, num_rows, kHeadSize};
  const double u = ldexp(1, -24), num_keys = (double)num_rows, margin = 1.01;
  double V, S, T, bracket, of_attention, f, of_merge;
  heed_tensor *keys = NULL, *values = NULL;
  CHECK(heed_tensor_create(attention->context, HEED_F32, 3, dims, &keys));
  CHECK(heed_tensor_create(attention->context, HEED_F32, 3, dims, &values));
  CHECK(heed_cache_read(cache, 0, 0, keys, values));
  V = largest_norm(values, 1);
  /* The sum of abs(q_d k_d) is at most the product of the norms. */
  S = margin * largest_query(attention, rows) * largest_norm(keys, kHeadSize) / sqrt(kHeadSize);
  T = fmax(S, largest_norm(attention->sinks, 1));
  bracket = 6 + 2 * (kHeadSize + 2) * S + 2 * num_keys + 6 * ceil(num_keys / 256) + 6.5 * T;
  of_attention = V * expm1(margin * u * bracket) + u * V;
  f = margin * u * (bracket + T + log(num_keys + 1));
  of_merge = margin * (num_shards + 3) * u * V;
  heed_tensor_destroy(values);
  heed_tensor_destroy(keys);
  return 2 * of_attention + 2 * V * expm1(2 * f) + of_merge;
}

OneProcess compute_in_one_process(const Attention* attention, const float* sequence, int num_shards, const Range* calls,
                                  int num_calls) {
  const int64_t num_rows = calls[num_calls - 1].end, num_new = num_rows - calls[0].begin;
  const int64_t dims[] = {1, num_rows, kNumHiddens};
  OneProcess expected = {calls[0].begin, allocate(num_new * kOutputSize), allocate(num_new * kOutputSize), 0};
  float* output = allocate(num_rows * kOutputSize);
  heed_cache* cache = create_shard(attention, num_rows);
  heed_tensor* rows = NULL;
  attend_to_all_shards(attention, sequence, num_shards, calls, num_calls, expected.merged);
  CHECK(heed_tensor_create_from(attention->context, HEED_F32, 3, dims, sequence, &rows));
  attend_at_once(attention, cache, rows, output);
  memcpy(expected.whole, output + expected.first_row * kOutputSize,
         (size_t)(num_new * kOutputSize) * sizeof *expected.whole);
  expected.bound = bound_of(attention, cache, rows, num_shards);
  heed_tensor_destroy(rows);
  heed_cache_destroy(cache);
  free(output);
  return expected;
}

void free_one_process(const OneProcess* expected) {
  free(expected->whole);
  free(expected->merged);
}

int has_the_same_bits(const OneProcess* expected, const Result* result) {
  const float* merged = expected->merged + (result->range.begin - expected->first_row) * kOutputSize;
  return memcmp(result->output, merged, (size_t)(num_rows_of(result->range) * kOutputSize) * sizeof *merged) == 0;
}

double difference_to_whole(const OneProcess* expected, const Result* result) {
  const float* whole = expected->whole + (result->range.begin - expected->first_row) * kOutputSize;
  double largest = 0;
  for (int64_t i = 0; i < num_rows_of(result->range) * kOutputSize; ++i) {
    const double difference = fabs((double)result->output[i] - whole[i]);
    if (isnan(difference)) return INFINITY;
    if (difference > largest) largest = difference;
  }
  return largest;
}
