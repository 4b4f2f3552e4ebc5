/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../c/example.h"

enum { kNumSequences = 64 /* of a step */ };

Trainer create_trainer(void) {
  Trainer trainer = {NULL, NULL, NULL, NULL, NULL, NULL};
  CHECK(heed_context_create(NULL, &trainer.context));
  trainer.transformer = create_transformer(trainer.context);
  trainer.optimizer = create_optimizer(trainer.context);
  CHECK(heed_gradients_create(trainer.transformer, &trainer.own));
  CHECK(heed_gradients_create(trainer.transformer, &trainer.received));
  CHECK(heed_gradients_create(trainer.transformer, &trainer.sum));
  return trainer;
}

void destroy_trainer(const Trainer* trainer) {
  heed_gradients_destroy(trainer->sum);
  heed_gradients_destroy(trainer->received);
  heed_gradients_destroy(trainer->own);
  heed_optimizer_destroy(trainer->optimizer);
  heed_layer_destroy(trainer->transformer);
  heed_context_destroy(trainer->context);
}

Part create_part(const Trainer* trainer, int index, int num_parts) {
  const int first = kNumSequences * index / num_parts, end = kNumSequences * (index + 1) / num_parts;
  Part part;
  part.first_sequence = (uint32_t)first;
  part.batch = create_batch(trainer->context, end - first);
  part.pass = create_pass(trainer->context, trainer->transformer, &part.batch);
  return part;
}

void destroy_part(const Part* part) {
  destroy_pass(&part->pass);
  destroy_batch(&part->batch);
}

Total compute_part(const Trainer* trainer, const Part* part, int step) {
  Total total;
  draw_batch(&part->batch, kCopy, (uint32_t)step, part->first_sequence);
  total.loss = compute_gradients(trainer->transformer, &part->batch, &part->pass, HEED_LOSS_SUM, trainer->own);
  total.num_labels = (double)num_labels_of(&part->batch);
  return total;
}

double finish_step(const Trainer* trainer, Total total) {
  CHECK(heed_gradients_scale(trainer->sum, 1.0 / total.num_labels));
  take_step(trainer->optimizer, trainer->transformer, trainer->sum);
  return total.loss / total.num_labels;
}

void train_in_one_process(const Trainer* trainer, int num_parts, double* losses) {
  Part* parts = malloc((size_t)num_parts * sizeof *parts);
  if (parts == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  for (int i = 0; i < num_parts; ++i) parts[i] = create_part(trainer, i, num_parts);
  for (int step = 1; step <= kNumSteps; ++step) {
    Total total = {0, 0};
    CHECK(heed_gradients_zero(trainer->sum));
    for (int i = 0; i < num_parts; ++i) {
      const Total of_part = compute_part(trainer, &parts[i], step);
      total.loss += of_part.loss;
      total.num_labels += of_part.num_labels;
      CHECK(heed_gradients_add(trainer->sum, trainer->own));
    }
    losses[step - 1] = finish_step(trainer, total);
  }
  for (int i = 0; i < num_parts; ++i) destroy_part(&parts[i]);
  free(parts);
}

int have_the_same_parameters(const Trainer* a, const Trainer* b) {
  int is_same = 1;
  for (int64_t i = 0; i < heed_layer_parameter_count(a->transformer); ++i) {
    const char* name = heed_layer_parameter_name(a->transformer, i);
    heed_tensor *of_a = NULL, *of_b = NULL;
    void *elements_a = NULL, *elements_b = NULL;
    CHECK(heed_layer_parameter(a->transformer, name, &of_a));
    CHECK(heed_layer_parameter(b->transformer, name, &of_b));
    elements_a = elements_of(of_a, sizeof(float));
    elements_b = elements_of(of_b, sizeof(float));
    is_same = is_same && memcmp(elements_a, elements_b, heed_tensor_num_bytes(of_a)) == 0;
    free(elements_b);
    free(elements_a);
    heed_tensor_destroy(of_b);
    heed_tensor_destroy(of_a);
  }
  return is_same;
}
