/* SPDX-License-Identifier: Apache-2.0 */
/* The results that the ranks should have together, computed by one process. */
#ifndef HEED_EXAMPLES_MPI_ONE_PROCESS_H
#define HEED_EXAMPLES_MPI_ONE_PROCESS_H

#include "forms.h"

typedef struct OneProcess {
  int64_t first_row; /* the row of the sequence that the results begin with */
  float* merged;     /* from the same shards, merged in the same order */
  float* whole;      /* of one call over all rows */
  double bound;      /* the largest difference that the two may have */
} OneProcess;

/* The rows of calls[0] follow those that the shards are filled with, and each call follows the one before. */
OneProcess compute_in_one_process(const Attention* attention, const float* sequence, int num_shards, const Range* calls,
                                  int num_calls);
void free_one_process(const OneProcess* expected);

/* Whether the result has the same bits as `merged`. */
int has_the_same_bits(const OneProcess* expected, const Result* result);

/* The largest difference between the result and `whole`; infinity if one is NaN. */
double difference_to_whole(const OneProcess* expected, const Result* result);

#endif
