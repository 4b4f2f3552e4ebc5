/* SPDX-License-Identifier: Apache-2.0 */
/* A shard: the keys and values of some rows of a sequence, in a heed_cache. Attention to a shard gives a partial result,
 * and the partial results of all shards make the result of the whole sequence. */
#ifndef HEED_EXAMPLES_MPI_SHARD_H
#define HEED_EXAMPLES_MPI_SHARD_H

#include <heed/heed.h>
#include <stddef.h>

enum { kNumHiddens = 64, kNumHeads = 4, kNumKvHeads = 2, kHeadSize = 16, kOutputSize = kNumHeads * kHeadSize };

/* The layer has the same weights on all ranks. It has no output projection: partial results are merged before it. */
typedef struct Attention {
  heed_context* context;
  heed_layer* to_earlier_rows; /* each query sees all rows of the shard */
  heed_layer* to_own_rows;     /* the same weights with a causal mask: a query sees no later row of its own call */
  heed_tensor* sinks;          /* (H); they count once, in merge() */
} Attention;

Attention create_attention(void);
void destroy_attention(const Attention* attention);

/* Rows begin to end - 1 of the sequence. A row's index is its position. */
typedef struct Range {
  int64_t begin;
  int64_t end;
} Range;

int64_t num_rows_of(Range range);

/* Part `index` of num_parts contiguous parts of nearly the same number of rows. */
Range part_of(Range range, int index, int num_parts);

/* Memory for num_elements floats; the program ends if there is none. The caller frees it. */
float* allocate(int64_t num_elements);

/* Rows 0 to num_rows - 1 of the sequence, (num_rows, kNumHiddens): in a program what the layer before this one gives. Any
 * rank can make them, since the seed is the same. The caller frees them. */
float* create_sequence(const Attention* attention, int64_t num_rows);

/* The caller destroys the cache. */
heed_cache* create_shard(const Attention* attention, int64_t capacity);

/* Appends the keys and values of these rows of the sequence. */
void fill_shard(const Attention* attention, heed_cache* shard, const float* sequence, Range range);

/* The number of floats of a partial result: output (num_rows, H * D), then log_sum_exp (H, num_rows). */
int64_t partial_size(int64_t num_rows);

/* Writes the partial result of the rows at `rows`, which are those of `range` in the sequence. If the shard owns them, their
 * keys and values are appended first. */
void attend_to_shard(const Attention* attention, heed_cache* shard, int owns_rows, const float* rows, Range range,
                     float* partial);

/* Writes the result, (num_rows, H * D), of num_parts partial results that lie one after another. */
void merge(const Attention* attention, float* partials, int num_parts, int64_t num_rows, float* output);

#endif
