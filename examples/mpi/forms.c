/* SPDX-License-Identifier: Apache-2.0 */
#include "forms.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { kTagOfBlocks, kTagOfPartials };

typedef struct Ranks {
  int rank; /* this one */
  int count;
} Ranks;

static Ranks all_ranks(void) {
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
  return ranks;
}

static Result create_result(Range range) {
  const Result result = {range, allocate(num_rows_of(range) * kOutputSize)};
  return result;
}

Result attend_by_broadcast(const Attention* attention, heed_cache* shard, const float* sequence, Range range) {
  const Ranks ranks = all_ranks();
  const int last = ranks.count - 1;
  const int is_last = ranks.rank == last;
  const int64_t num_rows = num_rows_of(range), size = partial_size(num_rows);
  const Range of_last = {range.begin, is_last ? range.end : range.begin};
  const Result result = create_result(of_last);
  float* rows = allocate(num_rows * kNumHiddens);
  float* partial = allocate(size);
  float* partials = allocate(is_last ? ranks.count * size : 0);

  if (is_last) memcpy(rows, sequence + range.begin * kNumHiddens, (size_t)(num_rows * kNumHiddens) * sizeof *rows);
  MPI_Bcast(rows, (int)(num_rows * kNumHiddens), MPI_FLOAT, last, MPI_COMM_WORLD);
  attend_to_shard(attention, shard, is_last, rows, range, partial);
  MPI_Gather(partial, (int)size, MPI_FLOAT, partials, (int)size, MPI_FLOAT, last, MPI_COMM_WORLD);
  if (is_last) merge(attention, partials, ranks.count, num_rows, result.output);

  free(partials);
  free(partial);
  free(rows);
  return result;
}

Result attend_by_ring(const Attention* attention, heed_cache* shard, const float* sequence, Range range) {
  const Ranks ranks = all_ranks();
  const int is_last = ranks.rank == ranks.count - 1;
  const int left = (ranks.rank + ranks.count - 1) % ranks.count, right = (ranks.rank + 1) % ranks.count;
  const int64_t most_rows = num_rows_of(range) / ranks.count + 1;
  const Result result = create_result(part_of(range, ranks.rank, ranks.count));
  const int64_t num_own = num_rows_of(result.range), own_size = partial_size(num_own);
  const float* own_rows = sequence + result.range.begin * kNumHiddens;
  float* block = allocate(most_rows * kNumHiddens);
  float* next_block = allocate(most_rows * kNumHiddens);
  float* partial = allocate(partial_size(most_rows));
  float* partials = allocate(ranks.count * own_size);

  memcpy(block, own_rows, (size_t)(num_own * kNumHiddens) * sizeof *block);
  for (int step = 1; step < ranks.count; ++step) {
    const int owner = (ranks.rank + step) % ranks.count;              /* of the block that comes now */
    const int host = (ranks.rank - step + ranks.count) % ranks.count; /* where this rank's block is now */
    const Range of_block = part_of(range, (owner + ranks.count - 1) % ranks.count, ranks.count);
    const Range of_next = part_of(range, owner, ranks.count);
    float* swapped = block;
    MPI_Sendrecv(block, (int)(num_rows_of(of_block) * kNumHiddens), MPI_FLOAT, left, kTagOfBlocks, next_block,
                 (int)(num_rows_of(of_next) * kNumHiddens), MPI_FLOAT, right, kTagOfBlocks, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    block = next_block;
    next_block = swapped;
    attend_to_shard(attention, shard, is_last, block, of_next, partial);
    MPI_Sendrecv(partial, (int)partial_size(num_rows_of(of_next)), MPI_FLOAT, owner, kTagOfPartials,
                 partials + host * own_size, (int)own_size, MPI_FLOAT, host, kTagOfPartials, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  /* A rank's own block comes last: blocks 0, 1, ... have come to the last rank in this order, and its own is the last one
   * of the rows that it appends. */
  attend_to_shard(attention, shard, is_last, own_rows, result.range, partials + ranks.rank * own_size);
  if (num_own > 0) merge(attention, partials, ranks.count, num_own, result.output);

  free(partials);
  free(partial);
  free(next_block);
  free(block);
  return result;
}
