/* SPDX-License-Identifier: Apache-2.0 */
/* Two ways to add the gradients of all ranks of MPI. All ranks call them together, with sets of the same layer, and each
 * gets the sum. */
#ifndef HEED_EXAMPLES_MPI_GRADIENT_SUMS_H
#define HEED_EXAMPLES_MPI_GRADIENT_SUMS_H

#include <heed/heed.h>

/* Writes the sum of every rank's `own` to `sum`. `received` is memory for the set of another rank. */
typedef void (*GradientSum)(heed_gradients* own, heed_gradients* received, heed_gradients* sum);

/* Adds rank 0's gradients to zeros, then rank 1's, and so on: always the same bits. */
void add_in_order(heed_gradients* own, heed_gradients* received, heed_gradients* sum);

/* MPI adds, in an order of its own: less is sent, but other hosts, or another MPI, may give other bits. */
void add_by_allreduce(heed_gradients* own, heed_gradients* received, heed_gradients* sum);

#endif
