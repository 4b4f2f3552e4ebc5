/* SPDX-License-Identifier: Apache-2.0 */
/* Training over the ranks of MPI: each rank has all parameters and a part of each batch. The ranks add their gradients, and
 * each takes the same step. docs/training.md says more.
 *
 *   mpirun -n 2 data_parallel ordered
 *   mpirun -n 2 data_parallel allreduce
 *
 * Every rank compares its losses and parameters with those of one process that computes all parts, and rank 0 prints one
 * line.
 */
#include <heed/heed.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradient_sums.h"
#include "trainer.h"

/* Of all ranks, added in their order. */
static Total add_totals(Total own, int num_ranks) {
  Total* totals = malloc((size_t)num_ranks * sizeof *totals);
  Total sum = {0, 0};
  if (totals == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  MPI_Allgather(&own, 2, MPI_DOUBLE, totals, 2, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int rank = 0; rank < num_ranks; ++rank) {
    sum.loss += totals[rank].loss;
    sum.num_labels += totals[rank].num_labels;
  }
  free(totals);
  return sum;
}

static void train_together(const Trainer* trainer, GradientSum add, double* losses) {
  int rank = 0, num_ranks = 0;
  Part part;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  part = create_part(trainer, rank, num_ranks);
  for (int step = 1; step <= kNumSteps; ++step) {
    const Total own = compute_part(trainer, &part, step);
    const Total total = add_totals(own, num_ranks);
    add(trainer->own, trainer->received, trainer->sum);
    losses[step - 1] = finish_step(trainer, total);
  }
  destroy_part(&part);
}

/* The largest difference between two losses of the same step; infinity if one is NaN. */
static double largest_difference(const double* a, const double* b) {
  double largest = 0;
  for (int i = 0; i < kNumSteps; ++i) {
    const double difference = fabs(a[i] - b[i]);
    if (isnan(difference)) return INFINITY;
    if (difference > largest) largest = difference;
  }
  return largest;
}

static int run(const char* name, GradientSum add, int must_be_the_same) {
  const Trainer together = create_trainer(), alone = create_trainer();
  double losses[kNumSteps], expected[kNumSteps], difference = 0;
  int rank = 0, num_ranks = 0, is_same = 0, are_all_same = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  train_together(&together, add, losses);
  train_in_one_process(&alone, num_ranks, expected);
  difference = largest_difference(losses, expected);
  is_same = difference == 0 && have_the_same_parameters(&together, &alone);
  MPI_Reduce(&is_same, &are_all_same, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%s, %d ranks, %d steps: the loss falls from %.3f to %.3f; ", name, num_ranks, kNumSteps, losses[0],
           losses[kNumSteps - 1]);
    if (are_all_same) {
      printf("losses and parameters have the same bits as in one process\n");
    } else {
      printf("%s bits than in one process, losses differ by up to %.1e\n", must_be_the_same ? "OTHER" : "other",
             difference);
    }
  }
  destroy_trainer(&alone);
  destroy_trainer(&together);
  return rank == 0 && must_be_the_same && !are_all_same;
}

int main(int argc, char** argv) {
  int status = 2, threads = MPI_THREAD_SINGLE;
  /* The threads of heed never call MPI. */
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  if (threads < MPI_THREAD_FUNNELED) {
    fprintf(stderr, "this MPI allows no other threads beside its own\n");
  } else if (argc == 2 && strcmp(argv[1], "ordered") == 0) {
    status = run(argv[1], add_in_order, 1);
  } else if (argc == 2 && strcmp(argv[1], "allreduce") == 0) {
    status = run(argv[1], add_by_allreduce, 0);
  } else {
    fprintf(stderr, "usage: mpirun -n RANKS %s ordered|allreduce\n", argv[0]);
  }
  MPI_Finalize();
  return status;
}
