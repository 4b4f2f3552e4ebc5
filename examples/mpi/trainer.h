/* SPDX-License-Identifier: Apache-2.0 */
/* What trains the Transformer of ../c/learner.h by the parts of batches. A rank of MPI has one part, one process has all. */
#ifndef HEED_EXAMPLES_MPI_TRAINER_H
#define HEED_EXAMPLES_MPI_TRAINER_H

#include <heed/heed.h>

#include "../c/learner.h"

enum { kNumSteps = 100 };

typedef struct Trainer {
  heed_context* context;
  heed_layer* transformer; /* with the same parameters in every trainer at first */
  heed_optimizer* optimizer;
  heed_gradients *own, *received, *sum; /* of a part, of another rank's part, and of all parts */
} Trainer;

Trainer create_trainer(void);
void destroy_trainer(const Trainer* trainer);

/* Part `index` of num_parts of the sequences of each step, with memory for its passes. */
typedef struct Part {
  uint32_t first_sequence;
  Batch batch;
  Pass pass;
} Part;

Part create_part(const Trainer* trainer, int index, int num_parts);
void destroy_part(const Part* part);

/* What a part, or all parts, of a step have: the sum of the losses of labels, and how many labels there are. */
typedef struct Total {
  double loss;
  double num_labels;
} Total;

/* Computes the gradients of the sum of losses of a part, trainer->own. */
Total compute_part(const Trainer* trainer, const Part* part, int step);

/* Takes the step that trainer->sum says, of all parts. Returns the mean loss. */
double finish_step(const Trainer* trainer, Total total);

/* Trains in one process, which computes all parts, one after another. Writes the loss of each step. */
void train_in_one_process(const Trainer* trainer, int num_parts, double* losses);

/* Whether both have the same parameters, bit by bit. */
int have_the_same_parameters(const Trainer* a, const Trainer* b);

#endif
