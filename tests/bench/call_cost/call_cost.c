/* SPDX-License-Identifier: Apache-2.0 */
/* What one call of heed costs from C: the measure for CallCost.java and CallCost.cs beside it, which make the same
 * calls. Prints a line for each layer and form, "<layer> <form> <nanoseconds>", the median of many short samples.
 *
 *   layer  toy    B 2, S 4, E 100, 5 heads: the layer of "Dive into Deep Learning", self-attention
 *          least  B 1, S 1, E 1, 1 head: next to nothing is computed, so that what remains is the call
 *          array  no layer: the sum of two arrays (2, 12)
 *          encoder  B 8, S 64, E 128, 4 heads, feed-forward 512, 2 layers
 *   form   reused the caller's output and workspace, nothing is allocated
 *          new    a new output for each call, which is freed after it
 *          step   a step of training: forward that saves, squared error, backward, AdamW, gradients zeroed
 *
 * With --quick samples are so short that the numbers say nothing: it shows that the program runs. */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <heed/heed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kSamples = 201, kWarmUpSamples = 20 };
static double sample_nanoseconds = 1e6;

static void check(heed_status status) {
  if (status == HEED_OK) return;
  fprintf(stderr, "%s\n", heed_last_error());
  exit(1);
}

typedef struct call {
  heed_context* context;
  heed_tensor* terms[2];
  heed_tensor* sum;
  heed_layer* attention;
  heed_layer_inputs inputs;
  heed_layer_outputs outputs;
  heed_workspace* workspace;
  /* Of a step of training, whose gradient by the output is written over the output. */
  heed_tensor* targets;
  heed_gradients* gradients;
  heed_optimizer* optimizer;
} call;

static void reused(call* self) {
  check(heed_layer_forward(self->attention, &self->inputs, self->workspace, &self->outputs));
}

static void with_new_output(call* self) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(self->attention, &self->inputs, HEED_WANT_OUTPUT, &outputs));
  check(heed_layer_forward(self->attention, &self->inputs, NULL, &outputs));
  heed_tensor_destroy(outputs.output);
}

static void step(call* self) {
  heed_layer_gradients wanted = HEED_LAYER_GRADIENTS_INIT;
  double total = 0;
  check(heed_layer_forward(self->attention, &self->inputs, NULL, &self->outputs));
  check(heed_squared_error(self->outputs.output, self->targets, NULL, NULL, &total, self->outputs.output));
  wanted.output = self->outputs.output;
  wanted.parameters = self->gradients;
  wanted.accumulate = 1;
  check(heed_layer_backward(self->attention, &self->inputs, &self->outputs, NULL, &wanted));
  check(heed_optimizer_step(self->optimizer, self->attention, self->gradients));
  check(heed_gradients_zero(self->gradients));
}

static void sum_reused(call* self) { check(heed_add(self->terms[0], self->terms[1], self->sum)); }

static void with_new_sum(call* self) {
  const int64_t dims[] = {2, 12};
  heed_tensor* sum = NULL;
  check(heed_tensor_create(self->context, HEED_F32, 2, dims, &sum));
  check(heed_add(self->terms[0], self->terms[1], sum));
  heed_tensor_destroy(sum);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Nanoseconds of one call, over `calls` of them. */
static double sample(void (*form)(call*), call* self, long calls) {
  const double start = now();
  long i;
  for (i = 0; i < calls; ++i) form(self);
  return (now() - start) / (double)calls;
}

static int ascending(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return left < right ? -1 : left > right;
}

static void measure(const char* layer, const char* form_name, void (*form)(call*), call* self) {
  double times[kSamples];
  long calls = 1;
  int i;
  for (i = 0; i < kWarmUpSamples; ++i) calls = 1 + (long)(sample_nanoseconds / sample(form, self, calls));
  for (i = 0; i < kSamples; ++i) times[i] = sample(form, self, calls);
  qsort(times, kSamples, sizeof *times, ascending);
  printf("%s %s %.1f\n", layer, form_name, times[kSamples / 2]);
}

static void measure_layer(const char* layer, const int64_t dims[3], int64_t num_heads) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_context* context = NULL;
  heed_tensor* words = NULL;
  call self = {NULL, {NULL, NULL}, NULL, NULL, HEED_LAYER_INPUTS_INIT, HEED_LAYER_OUTPUTS_INIT, NULL, NULL, NULL, NULL};
  size_t num_bytes = 0;
  check(heed_context_create(NULL, &context));
  check(heed_tensor_create(context, HEED_F32, 3, dims, &words));
  check(heed_tensor_fill(words, 1.0));
  options.num_hiddens = dims[2];
  options.num_heads = num_heads;
  check(heed_multi_head_attention_create(context, &options, &self.attention));
  self.inputs.queries = words;
  check(heed_layer_initialize(self.attention, &self.inputs, 42));
  check(heed_layer_create_outputs(self.attention, &self.inputs, HEED_WANT_OUTPUT, &self.outputs));
  check(heed_layer_workspace_size(self.attention, &self.inputs, &self.outputs, &num_bytes));
  check(heed_workspace_create(context, num_bytes, &self.workspace));

  measure(layer, "reused", reused, &self);
  measure(layer, "new", with_new_output, &self);

  heed_workspace_destroy(self.workspace);
  heed_tensor_destroy(self.outputs.output);
  heed_layer_destroy(self.attention);
  heed_tensor_destroy(words);
  heed_context_destroy(context);
}

static void measure_step(const char* name, heed_context* context, heed_layer* layer, const int64_t dims[3]) {
  call self;
  size_t num_bytes = 0;
  memset(&self, 0, sizeof self);
  self.context = context;
  self.attention = layer;
  self.inputs = (heed_layer_inputs)HEED_LAYER_INPUTS_INIT;
  self.outputs = (heed_layer_outputs)HEED_LAYER_OUTPUTS_INIT;
  check(heed_tensor_create(context, HEED_F32, 3, dims, &self.terms[0]));
  check(heed_tensor_create(context, HEED_F32, 3, dims, &self.targets));
  check(heed_tensor_fill_normal(self.terms[0], 0, 1, 1));
  check(heed_tensor_fill_normal(self.targets, 0, 1, 2));
  self.inputs.queries = self.terms[0];
  self.inputs.training = 1;
  check(heed_layer_initialize(layer, &self.inputs, 42));
  check(heed_layer_create_outputs(layer, &self.inputs, HEED_WANT_OUTPUT, &self.outputs));
  check(heed_layer_saved_size(layer, &self.inputs, &num_bytes));
  check(heed_saved_create(context, num_bytes, &self.outputs.saved));
  check(heed_gradients_create(layer, &self.gradients));
  check(heed_adamw_create(context, NULL, &self.optimizer));

  measure(name, "step", step, &self);

  heed_optimizer_destroy(self.optimizer);
  heed_gradients_destroy(self.gradients);
  heed_saved_destroy(self.outputs.saved);
  heed_tensor_destroy(self.outputs.output);
  heed_tensor_destroy(self.targets);
  heed_tensor_destroy(self.terms[0]);
}

static void measure_steps(void) {
  const int64_t toy[] = {2, 4, 100}, large[] = {8, 64, 128};
  heed_multi_head_attention_options attention = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_encoder_layer_options layer = HEED_ENCODER_LAYER_OPTIONS_INIT;
  heed_encoder_options options = HEED_ENCODER_OPTIONS_INIT;
  heed_context* context = NULL;
  heed_layer *toys = NULL, *encoder = NULL;
  check(heed_context_create(NULL, &context));
  attention.num_hiddens = 100;
  attention.num_heads = 5;
  check(heed_multi_head_attention_create(context, &attention, &toys));
  measure_step("toy", context, toys, toy);
  attention.num_hiddens = 128;
  attention.num_heads = 4;
  feed_forward.hidden_size = 512;
  layer.attention = &attention;
  layer.feed_forward = &feed_forward;
  options.layer = &layer;
  options.num_layers = 2;
  check(heed_encoder_create(context, &options, &encoder));
  measure_step("encoder", context, encoder, large);
  heed_layer_destroy(encoder);
  heed_layer_destroy(toys);
  heed_context_destroy(context);
}

static void measure_array(void) {
  const int64_t dims[] = {2, 12};
  call self = {NULL, {NULL, NULL}, NULL, NULL, HEED_LAYER_INPUTS_INIT, HEED_LAYER_OUTPUTS_INIT, NULL, NULL, NULL, NULL};
  check(heed_context_create(NULL, &self.context));
  check(heed_tensor_create(self.context, HEED_F32, 2, dims, &self.terms[0]));
  check(heed_tensor_create(self.context, HEED_F32, 2, dims, &self.terms[1]));
  check(heed_tensor_create(self.context, HEED_F32, 2, dims, &self.sum));

  measure("array", "reused", sum_reused, &self);
  measure("array", "new", with_new_sum, &self);

  heed_tensor_destroy(self.sum);
  heed_tensor_destroy(self.terms[1]);
  heed_tensor_destroy(self.terms[0]);
  heed_context_destroy(self.context);
}

int main(int argc, char** argv) {
  const int64_t toy[] = {2, 4, 100}, least[] = {1, 1, 1};
  if (argc > 1 && strcmp(argv[1], "--quick") == 0) sample_nanoseconds = 1;
  measure_layer("toy", toy, 5);
  measure_layer("least", least, 1);
  measure_array();
  measure_steps();
  return 0;
}
