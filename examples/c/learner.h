/* SPDX-License-Identifier: Apache-2.0 */
/* A small Transformer that learns sequences: its loss with the gradients, and what it writes on its own. */
#ifndef HEED_EXAMPLE_LEARNER_H
#define HEED_EXAMPLE_LEARNER_H

#include <heed/heed.h>

#include "sequences.h"

/* One encoder layer and one decoder layer of size 32, with four heads and random parameters. The caller destroys it. */
heed_layer* create_transformer(heed_context* context);

/* Memory for the passes of one batch, which every step uses again: of the logits (sequences, kMaxRows, kNumTokens), which
 * become their gradient, and of what forward keeps for backward. */
typedef struct Pass {
  heed_tensor* logits;
  heed_saved* saved;
} Pass;

Pass create_pass(heed_context* context, const heed_layer* transformer, const Batch* batch);
void destroy_pass(const Pass* pass);

/* The loss of the batch, HEED_LOSS_MEAN or HEED_LOSS_SUM of its labels, and the gradients of that loss. */
double compute_gradients(const heed_layer* transformer, const Batch* batch, const Pass* pass, int32_t reduction,
                         heed_gradients* gradients);

/* AdamW that changes parameters by at most some thousandths. The caller destroys it. */
heed_optimizer* create_optimizer(heed_context* context);

/* One step, by gradients whose norm is at most 1 then. */
void take_step(heed_optimizer* optimizer, heed_layer* transformer, heed_gradients* gradients);

/* The share of sequences that the Transformer writes without a mistake, the end included. It writes each greedily: the
 * most probable token is what it reads next. Changes the batch's targets. */
double share_written_right(heed_context* context, const heed_layer* transformer, const Batch* batch);

#endif
