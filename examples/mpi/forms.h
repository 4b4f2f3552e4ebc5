/* SPDX-License-Identifier: Apache-2.0 */
/* Two forms of attention over the shards of all ranks. In both, rank r has shard r, and new rows are owned by the last
 * shard. Each query meets every shard, and its partial results are merged in the order of ranks: so both forms give the same
 * bits, on whatever hosts the ranks run. */
#ifndef HEED_EXAMPLES_MPI_FORMS_H
#define HEED_EXAMPLES_MPI_FORMS_H

#include "shard.h"

/* What a rank has of the result: some of the rows, which may be none. */
typedef struct Result {
  Range range;
  float* output; /* (number of rows, H * D); the caller frees it */
} Result;

/* Attention of the rows `range` of the sequence to all rows before them and to themselves. All ranks call it with the same
 * range. */
typedef Result (*Form)(const Attention* attention, heed_cache* shard, const float* sequence, Range range);

/* The last rank has the new rows. It sends them to all ranks, gets the partial results of all, and has the whole result. */
Result attend_by_broadcast(const Attention* attention, heed_cache* shard, const float* sequence, Range range);

/* Each rank has a block of the new rows, which travels once around all ranks. Every rank sends its partial results for the
 * block to the rank that the block is from, and that has the result of the block. */
Result attend_by_ring(const Attention* attention, heed_cache* shard, const float* sequence, Range range);

#endif
