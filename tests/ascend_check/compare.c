/* SPDX-License-Identifier: Apache-2.0 */
/* Compares attention on an NPU with the CPU: the difference of the numbers, and the time of a call. For
 * scripts/ascend-check. Prints a line for each case, and fails if a number differs by more than the bound, if the
 * NPU refuses a case, or if there is no NPU.
 *
 *   compare [--quick]      --quick: small sizes, for a simulator
 *
 * Both get the same 16-bit inputs between -1 and 1. An output is a mean of values, weighted by
 * P / sum of P, so its error on the NPU is at most (u the unit round-off of the dtype, e that of f32, K keys, D elements
 * of a head, S the largest score, V = 1 the largest value):
 *
 *   u for each P, which is rounded before it multiplies a value, u for their sum, u for the result; an F16 number
 *   below 2^-14 loses 2^-25 instead, which over K keys is no more than K * e / 2;
 *   e * D * S for a score, twice, since numerator and denominator have the exponential; e * K for each of the two sums.
 *
 * The causal cases with heads above 128 elements have numbers of keys for which the last row of a block is next to keys
 * that it must not see. A mean of some hundred values that wrongly includes a tenth more changes by several times the bound.
 *
 * The CPU's output is F32; it has only the errors of the last line above. */
#define _POSIX_C_SOURCE 199309L
#include <heed/heed.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  const char* name;
  int64_t batch, num_heads, num_kv_heads, num_queries, num_keys, head_size;
  heed_dtype dtype;
  int32_t causal;
  int32_t has_lens; /* of two thirds of the keys */
  int32_t has_bias;
} test_case;

static const test_case kQuickCases[] = {
    {"dense", 2, 4, 4, 37, 37, 64, HEED_F16, HEED_CAUSAL_NONE, 0, 0},
    {"dense", 2, 4, 4, 37, 37, 64, HEED_BF16, HEED_CAUSAL_NONE, 0, 0},
    {"causal", 2, 4, 2, 150, 150, 64, HEED_F16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, fewer queries", 2, 4, 2, 20, 37, 64, HEED_F16, HEED_CAUSAL_BOTTOM_RIGHT, 0, 0},
    {"causal, head size 160", 1, 1, 1, 512, 512, 160, HEED_BF16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, head size 192", 1, 1, 1, 448, 448, 192, HEED_F16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"lengths", 2, 4, 4, 20, 50, 128, HEED_BF16, HEED_CAUSAL_NONE, 1, 0},
    {"bias", 2, 4, 4, 20, 30, 64, HEED_F16, HEED_CAUSAL_NONE, 0, 1},
    {"head size 40", 2, 4, 4, 20, 30, 40, HEED_F16, HEED_CAUSAL_NONE, 0, 0},
    {"head size 72", 2, 4, 4, 20, 30, 72, HEED_BF16, HEED_CAUSAL_NONE, 0, 0},
    {"head size 256", 1, 2, 2, 20, 30, 256, HEED_F16, HEED_CAUSAL_NONE, 0, 0},
};

static const test_case kCases[] = {
    {"dense", 8, 12, 12, 512, 512, 64, HEED_F16, HEED_CAUSAL_NONE, 0, 0},
    {"dense", 8, 12, 12, 512, 512, 64, HEED_BF16, HEED_CAUSAL_NONE, 0, 0},
    {"dense, long", 1, 32, 32, 4096, 4096, 128, HEED_F16, HEED_CAUSAL_NONE, 0, 0},
    {"causal", 4, 16, 16, 1024, 1024, 64, HEED_F16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, grouped, long", 1, 32, 8, 4096, 4096, 128, HEED_BF16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, fewer queries", 4, 16, 4, 100, 1024, 128, HEED_F16, HEED_CAUSAL_BOTTOM_RIGHT, 0, 0},
    {"causal, one query", 16, 32, 8, 1, 2048, 128, HEED_F16, HEED_CAUSAL_BOTTOM_RIGHT, 0, 0},
    {"causal, head size 129", 2, 4, 4, 576, 576, 129, HEED_F16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, head size 144", 2, 4, 4, 562, 562, 144, HEED_F16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, head size 160", 2, 4, 4, 512, 512, 160, HEED_BF16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, head size 160", 2, 4, 4, 700, 700, 160, HEED_F16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, head size 176", 2, 4, 4, 448, 448, 176, HEED_F16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, head size 192", 2, 4, 4, 576, 576, 192, HEED_BF16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, head size 192", 1, 16, 16, 4096, 4096, 192, HEED_F16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, head size 208", 2, 4, 4, 576, 576, 208, HEED_F16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"causal, head size 256", 2, 4, 4, 642, 642, 256, HEED_BF16, HEED_CAUSAL_TOP_LEFT, 0, 0},
    {"lengths", 16, 12, 12, 128, 384, 64, HEED_F16, HEED_CAUSAL_NONE, 1, 0},
    {"lengths and causal", 16, 12, 12, 384, 384, 64, HEED_BF16, HEED_CAUSAL_TOP_LEFT, 1, 0},
    {"bias", 2, 8, 8, 256, 512, 64, HEED_F16, HEED_CAUSAL_NONE, 0, 1},
    {"bias", 2, 8, 8, 256, 512, 64, HEED_BF16, HEED_CAUSAL_NONE, 0, 1},
    {"head size 40", 4, 8, 8, 300, 300, 40, HEED_F16, HEED_CAUSAL_NONE, 0, 0},
    {"head size 72", 4, 8, 8, 300, 300, 72, HEED_BF16, HEED_CAUSAL_NONE, 0, 0},
    {"head size 80", 4, 8, 8, 300, 300, 80, HEED_F16, HEED_CAUSAL_NONE, 0, 0},
    {"head size 256", 2, 8, 4, 300, 300, 256, HEED_F16, HEED_CAUSAL_NONE, 0, 0},
    {"one element", 1, 1, 1, 1, 1, 1, HEED_F16, HEED_CAUSAL_NONE, 0, 0},
};

enum { kNumTimed = 10 };

static double now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int failed(const char* what) {
  printf("FAILED: %s: %s: %s\n", what, heed_status_name(heed_last_status()), heed_last_error());
  return 0;
}

/* The objects of a case on one device, and its result as F32. */
typedef struct {
  heed_tensor *queries, *keys, *values, *lens, *bias, *output;
  heed_layer* layer;
  heed_layer_inputs inputs;
  heed_layer_outputs outputs;
  float* result;
  double first_seconds, best_seconds;
} run_state;

static int make_random(heed_context* context, const test_case* wanted, int64_t heads, int64_t rows, uint64_t seed,
                       heed_tensor** tensor) {
  const int64_t dims[] = {wanted->batch, heads, rows, wanted->head_size};
  return heed_tensor_create(context, wanted->dtype, 4, dims, tensor) == HEED_OK &&
         heed_tensor_fill_uniform(*tensor, -1, 1, seed) == HEED_OK;
}

static int make_inputs(heed_context* context, const test_case* wanted, run_state* state) {
  const int64_t pairs[] = {wanted->num_queries, wanted->num_keys};
  if (!make_random(context, wanted, wanted->num_heads, wanted->num_queries, 1, &state->queries) ||
      !make_random(context, wanted, wanted->num_kv_heads, wanted->num_keys, 2, &state->keys) ||
      !make_random(context, wanted, wanted->num_kv_heads, wanted->num_keys, 3, &state->values))
    return 0;
  const int64_t length = wanted->num_keys * 2 / 3;
  if (wanted->has_lens && (heed_tensor_create(context, HEED_I64, 1, &wanted->batch, &state->lens) != HEED_OK ||
                           heed_tensor_fill(state->lens, (double)length) != HEED_OK))
    return 0;
  if (wanted->has_bias && (heed_tensor_create(context, wanted->dtype, 2, pairs, &state->bias) != HEED_OK ||
                           heed_tensor_fill_uniform(state->bias, -1, 0, 4) != HEED_OK))
    return 0;
  state->inputs = (heed_layer_inputs)HEED_LAYER_INPUTS_INIT;
  state->inputs.queries = state->queries;
  state->inputs.keys = state->keys;
  state->inputs.values = state->values;
  state->inputs.valid_lens = state->lens;
  state->inputs.bias = state->bias;
  return 1;
}

static int call(heed_context* context, run_state* state, double* seconds) {
  const double start = now();
  if (heed_layer_forward(state->layer, &state->inputs, NULL, &state->outputs) != HEED_OK ||
      heed_context_synchronize(context) != HEED_OK)
    return 0;
  *seconds = now() - start;
  return 1;
}

/* The output has the dtype `output`. */
static int run(heed_context* context, const test_case* wanted, heed_dtype output, int num_timed, run_state* state) {
  const int64_t dims[] = {wanted->batch, wanted->num_heads, wanted->num_queries, wanted->head_size};
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  heed_tensor* floats = NULL;
  double seconds = 0;
  int is_read = 0;
  options.causal = wanted->causal;
  if (!make_inputs(context, wanted, state)) return 0;
  if (heed_dot_product_attention_create(context, &options, &state->layer) != HEED_OK) return 0;
  if (heed_tensor_create(context, output, 4, dims, &state->output) != HEED_OK) return 0;
  state->outputs = (heed_layer_outputs)HEED_LAYER_OUTPUTS_INIT;
  state->outputs.output = state->output;
  if (!call(context, state, &state->first_seconds)) return 0;
  state->best_seconds = state->first_seconds;
  for (int i = 0; i < num_timed; ++i) {
    if (!call(context, state, &seconds)) return 0;
    if (seconds < state->best_seconds) state->best_seconds = seconds;
  }
  state->result = malloc((size_t)heed_tensor_num_elements(state->output) * sizeof(float));
  if (state->result == NULL || heed_tensor_create(context, HEED_F32, 4, dims, &floats) != HEED_OK) return 0;
  is_read = heed_tensor_copy(floats, state->output) == HEED_OK &&
            heed_tensor_read(floats, state->result, heed_tensor_num_bytes(floats)) == HEED_OK;
  heed_tensor_destroy(floats);
  return is_read;
}

static void destroy(run_state* state) {
  free(state->result);
  heed_layer_destroy(state->layer);
  heed_tensor_destroy(state->output);
  heed_tensor_destroy(state->bias);
  heed_tensor_destroy(state->lens);
  heed_tensor_destroy(state->values);
  heed_tensor_destroy(state->keys);
  heed_tensor_destroy(state->queries);
}

static double allowed(const test_case* wanted) {
  const double u = wanted->dtype == HEED_F16 ? ldexp(1, -11) : ldexp(1, -8);
  const double e = ldexp(1, -24);
  const double d = (double)wanted->head_size;
  const double k = (double)wanted->num_keys;
  const double score = sqrt(d) + 1; /* |q . k| / sqrt(D), and the bias */
  /* A row's largest bias is subtracted from the others. The difference, at most 1, is rounded to the dtype. */
  const double of_bias = wanted->has_bias ? 2 * u : 0;
  return 3 * u + of_bias + e * (4 * d * score + 5 * k);
}

static int compare(heed_context* npu, heed_context* cpu, const test_case* wanted, int num_timed) {
  run_state on_npu = {0};
  run_state on_cpu = {0};
  int is_right = 0;
  if (!run(npu, wanted, wanted->dtype, num_timed, &on_npu) || !run(cpu, wanted, HEED_F32, 0, &on_cpu)) {
    failed(wanted->name);
  } else {
    double largest = 0, sum = 0;
    const int64_t num_elements = heed_tensor_num_elements(on_npu.output);
    const double pairs = (double)wanted->batch * (double)wanted->num_heads * (double)wanted->num_queries *
                         (double)wanted->num_keys * (wanted->causal == HEED_CAUSAL_TOP_LEFT ? 0.5 : 1.0);
    is_right = 1;
    for (int64_t i = 0; i < num_elements; ++i) {
      const double difference = fabs((double)on_npu.result[i] - (double)on_cpu.result[i]);
      /* Written so that a NaN is too far. */
      if (!(difference <= allowed(wanted))) is_right = 0;
      if (difference > largest) largest = difference;
      sum += difference * difference;
    }
    printf(
        "%-24s %-4s B %-2lld H %2lld/%-2lld Q %-4lld K %-4lld D %-3lld  largest %.2e of %.2e  rms %.2e  first %8.2f ms"
        "  best %8.3f ms  %7.2f TFLOP/s  CPU %9.2f ms%s\n",
        wanted->name, wanted->dtype == HEED_F16 ? "F16" : "BF16", (long long)wanted->batch,
        (long long)wanted->num_heads, (long long)wanted->num_kv_heads, (long long)wanted->num_queries,
        (long long)wanted->num_keys, (long long)wanted->head_size, largest, allowed(wanted),
        sqrt(sum / (double)num_elements), 1e3 * on_npu.first_seconds, 1e3 * on_npu.best_seconds,
        4e-12 * pairs * (double)wanted->head_size / on_npu.best_seconds, 1e3 * on_cpu.first_seconds,
        is_right ? "" : "  FAILED");
  }
  fflush(stdout);
  destroy(&on_cpu);
  destroy(&on_npu);
  return is_right;
}

int main(int argc, char** argv) {
  const int is_quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
  const test_case* cases = is_quick ? kQuickCases : kCases;
  const size_t num_cases = is_quick ? sizeof kQuickCases / sizeof *kQuickCases : sizeof kCases / sizeof *kCases;
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  heed_context *npu = NULL, *cpu = NULL;
  char text[1024] = "";
  size_t num_bytes = 0, num_right = 0;
  if (argc > 2 || (argc == 2 && !is_quick)) {
    fprintf(stderr, "usage: %s [--quick]\n", argv[0]);
    return 2;
  }
  printf("heed %s, Ascend devices: %d\n", heed_version_string(), (int)heed_device_count(HEED_DEVICE_ASCEND));
  options.device = HEED_DEVICE_ASCEND;
  options.strict = 1;
  if (heed_context_create(&options, &npu) != HEED_OK || heed_context_create(NULL, &cpu) != HEED_OK ||
      heed_context_describe(npu, text, sizeof text, &num_bytes) != HEED_OK) {
    failed("heed_context_create");
    return 1;
  }
  printf("%s\n", text);
  for (size_t i = 0; i < num_cases; ++i) num_right += (size_t)compare(npu, cpu, &cases[i], is_quick ? 1 : kNumTimed);
  printf("%zu of %zu cases are right\n", num_right, num_cases);
  heed_context_destroy(cpu);
  heed_context_destroy(npu);
  return num_right == num_cases ? 0 : 1;
}
