/* SPDX-License-Identifier: Apache-2.0 */
/* Trains a small Transformer to copy sequences of symbols, or to reverse them, which takes seconds. Then it writes sequences
 * that it has not learned from, and the loss of each step is drawn.
 *
 *   train_sequences copy|reverse PICTURE.svg [NUM_THREADS [LOSSES.txt]]
 *
 * LOSSES.txt gets the bits of each step's loss. Any number of threads gives the same bits, and so do the programs of this name
 * in Java and C#. Ends with status 1 if the Transformer has not learned its task.
 */
#include <heed/heed.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "example.h"
#include "learner.h"
#include "loss_curve.h"
#include "sequences.h"

enum { kNumSequences = 64 /* of a step */, kNumTests = 1000, kMaxSteps = 400 };

/* What is to be learned, in how many steps, and which share of new sequences is to be right then. */
typedef struct Lesson {
  const char* name;
  const char* title;
  Task task;
  int num_steps;
  double least_right;
} Lesson;

static const Lesson kLessons[] = {{"copy", "A Transformer learns to copy", kCopy, 200, 0.97},
                                  {"reverse", "A Transformer learns to reverse", kReverse, kMaxSteps, 0.90}};

static double seconds_now(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Writes the line again that the last step wrote. */
static void show_progress(const Lesson* lesson, int step, double loss, double num_tokens, double seconds) {
  fprintf(stderr, "\r%s: step %d of %d, loss %.3f, %.0f tokens/s, %.0f s left ", lesson->name, step, lesson->num_steps,
          loss, num_tokens / seconds, seconds / step * (lesson->num_steps - step));
  if (step == lesson->num_steps) fprintf(stderr, "\n");
  fflush(stderr);
}

static void train(heed_context* context, heed_layer* transformer, const Lesson* lesson, double* losses) {
  const Batch batch = create_batch(context, kNumSequences);
  const Pass pass = create_pass(context, transformer, &batch);
  heed_optimizer* optimizer = create_optimizer(context);
  heed_gradients* gradients = NULL;
  const double start = seconds_now();
  double num_tokens = 0;
  CHECK(heed_gradients_create(transformer, &gradients));
  for (int step = 1; step <= lesson->num_steps; ++step) {
    draw_batch(&batch, lesson->task, (uint32_t)step, 0);
    losses[step - 1] = compute_gradients(transformer, &batch, &pass, HEED_LOSS_MEAN, gradients);
    take_step(optimizer, transformer, gradients);
    num_tokens += (double)num_tokens_of(&batch);
    show_progress(lesson, step, losses[step - 1], num_tokens, seconds_now() - start);
  }
  heed_gradients_destroy(gradients);
  heed_optimizer_destroy(optimizer);
  destroy_pass(&pass);
  destroy_batch(&batch);
}

/* Of sequences that no step had. */
static double test(heed_context* context, const heed_layer* transformer, const Lesson* lesson) {
  const Batch batch = create_batch(context, kNumTests);
  double share = 0;
  draw_batch(&batch, lesson->task, 0, 0);
  share = share_written_right(context, transformer, &batch);
  destroy_batch(&batch);
  return share;
}

/* Writes the losses as the bits of floats, in hexadecimal, one on each line. Returns whether that worked. */
static int write_losses(const double* losses, int num_losses, const char* path) {
  FILE* file = fopen(path, "w");
  int is_written = 0;
  if (file == NULL) return 0;
  for (int i = 0; i < num_losses; ++i) {
    const union {
      float number;
      uint32_t bits;
    } loss = {(float)losses[i]};
    fprintf(file, "%08" PRIx32 "\n", loss.bits);
  }
  is_written = !ferror(file);
  return fclose(file) == 0 && is_written;
}

static int run(const Lesson* lesson, const char* picture, int32_t num_threads, const char* list) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  heed_context* context = NULL;
  heed_layer* transformer = NULL;
  double losses[kMaxSteps] = {0}, share = 0;
  const LossCurve curve = {lesson->title, losses, lesson->num_steps, log(kNumTokens)};
  options.num_threads = num_threads;
  CHECK(heed_context_create(&options, &context));
  transformer = create_transformer(context);
  train(context, transformer, lesson, losses);
  share = test(context, transformer, lesson);
  printf("%s, %d steps: the loss falls from %.3f to %.3f, %.1f %% of %d new sequences are right\n", lesson->name,
         lesson->num_steps, losses[0], losses[lesson->num_steps - 1], 100 * share, kNumTests);
  heed_layer_destroy(transformer);
  heed_context_destroy(context);
  if (!write_loss_curve(&curve, picture)) {
    fprintf(stderr, "cannot write %s\n", picture);
    return 1;
  }
  if (list != NULL && !write_losses(losses, lesson->num_steps, list)) {
    fprintf(stderr, "cannot write %s\n", list);
    return 1;
  }
  return share >= lesson->least_right ? 0 : 1;
}

int main(int argc, char** argv) {
  for (int i = 0; i < 2 && argc >= 3 && argc <= 5; ++i) {
    if (strcmp(argv[1], kLessons[i].name) != 0) continue;
    return run(&kLessons[i], argv[2], argc > 3 ? atoi(argv[3]) : 0, argc > 4 ? argv[4] : NULL);
  }
  fprintf(stderr, "usage: %s copy|reverse PICTURE.svg [NUM_THREADS [LOSSES.txt]]\n", argv[0]);
  return 2;
}
