/* SPDX-License-Identifier: Apache-2.0 */
/* Attention to a sequence whose keys and values are sharded over the ranks of MPI: rank r has the r-th part of the rows. A
 * chunk of new rows, then single ones, attend to all rows before them and to themselves. docs/context-parallel.md has the
 * drawing and the costs.
 *
 *   mpirun -n 4 context_parallel broadcast
 *   mpirun -n 4 context_parallel ring
 *
 * Every rank compares what it has of the results with those of one process, and rank 0 prints one line.
 */
#include <heed/heed.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forms.h"
#include "one_process.h"
#include "shard.h"

enum {
  kNumFilled = 1000,
  kChunk = 37,
  kNumSteps = 3,
  kNumRows = kNumFilled + kChunk + kNumSteps,
  kNumCalls = 1 + kNumSteps
};

/* What a rank found. */
enum { kSameBits, kDifference, kNumFindings };

/* The rows of the first call are the chunk, those of each later call one row. */
static Range rows_of_call(int call) {
  const Range chunk = {kNumFilled, kNumFilled + kChunk}, step = {chunk.end + call - 1, chunk.end + call};
  return call == 0 ? chunk : step;
}

/* Prints the line about the findings of all ranks. Returns whether they are what is promised. */
static int report(const char* form, int num_ranks, double bound, const double* findings) {
  int is_same = 1, is_within = 1;
  double largest = 0;
  for (int rank = 0; rank < num_ranks; ++rank, findings += kNumFindings) {
    is_same = is_same && findings[kSameBits] == 1;
    is_within = is_within && findings[kDifference] <= bound;
    if (findings[kDifference] > largest) largest = findings[kDifference];
  }
  printf("%s, %d ranks, %d rows, then %d and %d single ones: ", form, num_ranks, kNumFilled, kChunk, kNumSteps);
  printf("%s one process; to one call over all rows %.1e, %s the bound %.1e\n",
         is_same ? "the same bits as" : "OTHER BITS than", largest, is_within ? "within" : "BEYOND", bound);
  return is_same && is_within;
}

static int run(const char* name, Form form) {
  const Range filled = {0, kNumFilled};
  Range calls[kNumCalls], part;
  int rank = 0, num_ranks = 0, is_right = 1;
  double finding[kNumFindings] = {1, 0};
  double* findings = NULL;
  Attention attention = create_attention();
  float* sequence = create_sequence(&attention, kNumRows);
  OneProcess expected;
  heed_cache* shard = NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  for (int i = 0; i < kNumCalls; ++i) calls[i] = rows_of_call(i);
  expected = compute_in_one_process(&attention, sequence, num_ranks, calls, kNumCalls);

  /* The last shard owns the new rows too: they come after all rows of the other shards, so only there a chunk needs a causal
   * mask. */
  part = part_of(filled, rank, num_ranks);
  shard = create_shard(&attention, num_rows_of(part) + (rank == num_ranks - 1 ? kNumRows - kNumFilled : 0));
  fill_shard(&attention, shard, sequence, part);
  for (int i = 0; i < kNumCalls; ++i) {
    const Result result = form(&attention, shard, sequence, calls[i]);
    const double difference = difference_to_whole(&expected, &result);
    if (!has_the_same_bits(&expected, &result)) finding[kSameBits] = 0;
    if (difference > finding[kDifference]) finding[kDifference] = difference;
    free(result.output);
  }

  findings = malloc((size_t)num_ranks * kNumFindings * sizeof *findings);
  if (findings == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Gather(finding, kNumFindings, MPI_DOUBLE, findings, kNumFindings, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) is_right = report(name, num_ranks, expected.bound, findings);
  free(findings);
  heed_cache_destroy(shard);
  free_one_process(&expected);
  free(sequence);
  destroy_attention(&attention);
  return is_right ? 0 : 1;
}

int main(int argc, char** argv) {
  int status = 2, threads = MPI_THREAD_SINGLE;
  /* The threads of heed never call MPI. */
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  if (threads < MPI_THREAD_FUNNELED) {
    fprintf(stderr, "this MPI allows no other threads beside its own\n");
  } else if (argc == 2 && strcmp(argv[1], "broadcast") == 0) {
    status = run(argv[1], attend_by_broadcast);
  } else if (argc == 2 && strcmp(argv[1], "ring") == 0) {
    status = run(argv[1], attend_by_ring);
  } else {
    fprintf(stderr, "usage: mpirun -n RANKS %s broadcast|ring\n", argv[0]);
  }
  MPI_Finalize();
  return status;
}
