// SPDX-License-Identifier: Apache-2.0
/*
 * The native half of the Java and C# bindings: classes NativeContext, NativeTensor, NativeWeights, NativeLayer and
 * NativeWorkspace over heed.h, which only the façades in bindings/java and bindings/csharp see.
 *
 * Methods are listed in %extend without bodies: SWIG then calls the C function heed_<type>_<method>. A C function that
 * takes a struct is listed through a static function in the first %{ %} that takes the struct's members one by one.
 *
 * The type that a method is listed with tells what comes back; all of these spell heed_status in C, and the value goes
 * through `result`:
 *   heed_status                  nothing
 *   status_int64                 a number
 *   made_context, made_tensor, made_weights, made_layer, made_workspace
 *                                a new object, from a static method
 *   allocated_tensor             the same, with memory of its own
 *   allocated_output             a new object with memory of its own, from a method
 *   derived_tensor               a new object with the memory of a layer, from a method
 *   tensor_view                  a new object that shares the memory of the one it is made from
 * Plain getters are listed as getter_int32, getter_int64 and getter_text. Every status but HEED_OK becomes an exception
 * with heed's sentence, in the words of the language (translate.h, words.c).
 *
 * Not wrapped, and why: tests/bindings/not_wrapped.txt.
 */
%module HeedNative

%{
#include <heed/heed.h>
#include <string.h>

#include "translate.h"

typedef heed_status status_int64, made_context, made_tensor, made_weights, made_layer, made_workspace, derived_tensor,
    allocated_tensor, allocated_output, tensor_view;
typedef int32_t getter_int32;
typedef int64_t getter_int64;
typedef const char* getter_text;
typedef void* tensor_memory;

/* DataType, Status and the other enumerations of both languages repeat these numbers, which heed.h promises never to
 * change. */
typedef char numbers_of_the_facades[HEED_F32 == 0 && HEED_F16 == 1 && HEED_BF16 == 2 && HEED_F64 == 3 &&
                                    HEED_I32 == 4 && HEED_I64 == 5 && HEED_I8 == 6 && HEED_U8 == 7 && HEED_BOOL == 8 &&
                                    HEED_OK == 0 && HEED_ERROR_INTERNAL == 14 && HEED_DEVICE_CPU == 0 &&
                                    HEED_DEVICE_ASCEND == 1 && HEED_BIAS_NONE == 0 && HEED_BIAS_Q == 1 &&
                                    HEED_BIAS_K == 2 && HEED_BIAS_V == 4 && HEED_BIAS_O == 8 && HEED_BIAS_ALL == 15 &&
                                    HEED_CAUSAL_NONE == 0 && HEED_CAUSAL_TOP_LEFT == 1 &&
                                    HEED_CAUSAL_BOTTOM_RIGHT == 2 && HEED_WINDOW_NONE == 0 &&
                                    HEED_WINDOW_TOP_LEFT == 1 && HEED_WINDOW_BOTTOM_RIGHT == 2 &&
                                    HEED_EMPTY_ROWS_ZERO == 0 && HEED_EMPTY_ROWS_MEAN == 1 &&
                                    HEED_SCORING_DOT_PRODUCT == 0 && HEED_SCORING_ADDITIVE == 1 &&
                                    HEED_WANT_OUTPUT == 1 && HEED_WANT_WEIGHTS == 2 && HEED_WANT_LOG_SUM_EXP == 4
                                        ? 1
                                        : -1];

/* ---- Context ---- */

static heed_status heed_context_open(int32_t device, int32_t device_index, int32_t num_threads, int32_t strict,
                                     int32_t allow_reduced_precision, heed_context** result) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.device = device;
  options.device_index = device_index;
  options.num_threads = num_threads;
  options.strict = strict;
  options.allow_reduced_precision = allow_reduced_precision;
  return heed_context_create(&options, result);
}

/* *result gets the bytes that the whole text needs; text NULL only asks that. */
static heed_status heed_context_description(heed_context* context, char* text, size_t capacity, int64_t* result) {
  size_t num_bytes = 0;
  heed_status status = heed_context_describe(context, text, capacity, &num_bytes);
  *result = (int64_t)num_bytes;
  return status;
}

/* ---- Tensor ---- */

static heed_status heed_tensor_shape_only(heed_context* context, int32_t dtype, int32_t rank, const int64_t* dims,
                                          heed_tensor** result) {
  return heed_tensor_wrap(context, (heed_dtype)dtype, rank, dims, NULL, NULL, NULL, NULL, result);
}

/* Row-major. The managed object keeps the memory alive until the tensor and its views are destroyed. */
static heed_status heed_tensor_over(heed_context* context, int32_t dtype, int32_t rank, const int64_t* dims,
                                    void* memory, heed_tensor** result) {
  return heed_tensor_wrap(context, (heed_dtype)dtype, rank, dims, NULL, memory, NULL, NULL, result);
}

static heed_status heed_tensor_set_matmul(heed_tensor* product, heed_tensor* a, heed_tensor* b) {
  return heed_matmul(a, b, product);
}

static heed_status heed_tensor_set_softmax(heed_tensor* result, heed_tensor* tensor, int32_t axis) {
  return heed_softmax(tensor, axis, result);
}

static heed_status heed_tensor_set_masked_softmax(heed_tensor* result, heed_tensor* scores, heed_tensor* valid_lens) {
  return heed_masked_softmax(scores, valid_lens, result);
}

/* ---- Weights ---- */

static heed_status heed_weights_of_memory(heed_context* context, const void* data, size_t num_bytes,
                                          heed_weights** result) {
  return heed_weights_open_memory(context, data, num_bytes, result);
}

/* *result gets the bytes that the whole text needs; text NULL only asks that. */
static heed_status heed_weights_text(const char* whole, char* text, size_t capacity, int64_t* result) {
  if (!whole) return HEED_ERROR_INVALID_ARGUMENT; /* a bad index, of which heed_last_error tells */
  *result = (int64_t)strlen(whole) + 1;
  if (text && (size_t)*result <= capacity) memcpy(text, whole, (size_t)*result);
  return HEED_OK;
}

static heed_status heed_weights_name_text(heed_weights* weights, int64_t index, char* text, size_t capacity,
                                          int64_t* result) {
  return heed_weights_text(heed_weights_name(weights, index), text, capacity, result);
}

static heed_status heed_weights_type_text(heed_weights* weights, int64_t index, char* text, size_t capacity,
                                          int64_t* result) {
  return heed_weights_text(heed_weights_dtype_name(weights, index), text, capacity, result);
}

/* ---- Layers: making them ---- */

static heed_status heed_layer_linear(heed_context* context, int64_t output_size, int32_t no_bias, heed_layer** result) {
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = output_size;
  options.no_bias = no_bias;
  return heed_linear_create(context, &options, result);
}

static heed_status heed_layer_dropout(heed_context* context, float dropout, heed_layer** result) {
  heed_dropout_options options = HEED_DROPOUT_OPTIONS_INIT;
  options.dropout = dropout;
  return heed_dropout_create(context, &options, result);
}

static heed_status heed_layer_dot_product_attention(heed_context* context, float scale, float soft_cap, float dropout,
                                                    int32_t causal, int32_t window, int64_t window_left,
                                                    int64_t window_right, int32_t empty_rows, heed_layer** result) {
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.scale = scale;
  options.soft_cap = soft_cap;
  options.dropout = dropout;
  options.causal = causal;
  options.window = window;
  options.window_left = window_left;
  options.window_right = window_right;
  options.empty_rows = empty_rows;
  return heed_dot_product_attention_create(context, &options, result);
}

static heed_status heed_layer_additive_attention(heed_context* context, int64_t num_hiddens, float scale,
                                                 float soft_cap, float dropout, int32_t causal, int32_t window,
                                                 int64_t window_left, int64_t window_right, int32_t empty_rows,
                                                 heed_layer** result) {
  heed_additive_attention_options options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = num_hiddens;
  options.scale = scale;
  options.soft_cap = soft_cap;
  options.dropout = dropout;
  options.causal = causal;
  options.window = window;
  options.window_left = window_left;
  options.window_right = window_right;
  options.empty_rows = empty_rows;
  return heed_additive_attention_create(context, &options, result);
}

static heed_status heed_layer_multi_head_attention(heed_context* context, int64_t num_hiddens, int64_t num_heads,
                                                   int64_t num_kv_heads, int64_t head_size, int64_t value_head_size,
                                                   int64_t output_size, int32_t no_output_projection, int32_t biases,
                                                   int32_t scoring, float scale, float soft_cap, float dropout,
                                                   int32_t causal, int32_t window, int64_t window_left,
                                                   int64_t window_right, int32_t empty_rows, heed_layer** result) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = num_hiddens;
  options.num_heads = num_heads;
  options.num_kv_heads = num_kv_heads;
  options.head_size = head_size;
  options.value_head_size = value_head_size;
  options.output_size = output_size;
  options.no_output_projection = no_output_projection;
  options.biases = biases;
  options.scoring = scoring;
  options.scale = scale;
  options.soft_cap = soft_cap;
  options.dropout = dropout;
  options.causal = causal;
  options.window = window;
  options.window_left = window_left;
  options.window_right = window_right;
  options.empty_rows = empty_rows;
  return heed_multi_head_attention_create(context, &options, result);
}

/* ---- Layers: calls ---- */

/* What a call reads and writes, member by member. NULL: not given, not wanted. */
#define INPUTS                                                                                                 \
  heed_tensor *queries, heed_tensor *keys, heed_tensor *values, heed_tensor *valid_lens, heed_tensor *mask, \
      heed_tensor *bias
#define OUTPUTS heed_tensor *output, heed_tensor *weights, heed_tensor *log_sum_exp
#define GIVEN_INPUTS inputs_of(queries, keys, values, valid_lens, mask, bias)
#define GIVEN_OUTPUTS outputs_of(output, weights, log_sum_exp)

static heed_layer_inputs inputs_of(INPUTS) {
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries;
  inputs.keys = keys;
  inputs.values = values;
  inputs.valid_lens = valid_lens;
  inputs.mask = mask;
  inputs.bias = bias;
  return inputs;
}

static heed_layer_outputs outputs_of(OUTPUTS) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output;
  outputs.weights = weights;
  outputs.log_sum_exp = log_sum_exp;
  return outputs;
}

static heed_status heed_layer_load_from(heed_layer* layer, heed_weights* weights, const char* prefix,
                                        const char* accept) {
  heed_load_options options = HEED_LOAD_OPTIONS_INIT;
  options.accept = accept;
  return heed_layer_load_weights(layer, weights, prefix, &options);
}

static heed_status heed_context_scaled_dot_product_attention(heed_context* context, float scale, float soft_cap,
                                                             float dropout, int32_t causal, int32_t window,
                                                             int64_t window_left, int64_t window_right,
                                                             int32_t empty_rows, INPUTS, int64_t dropout_seed,
                                                             int32_t training, OUTPUTS) {
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  heed_layer_inputs inputs = GIVEN_INPUTS;
  heed_layer_outputs outputs = GIVEN_OUTPUTS;
  options.scale = scale;
  options.soft_cap = soft_cap;
  options.dropout = dropout;
  options.causal = causal;
  options.window = window;
  options.window_left = window_left;
  options.window_right = window_right;
  options.empty_rows = empty_rows;
  inputs.dropout_seed = (uint64_t)dropout_seed;
  inputs.training = training;
  return heed_scaled_dot_product_attention(context, &options, &inputs, &outputs);
}

static heed_status heed_layer_initialize_for(heed_layer* layer, INPUTS, int64_t seed) {
  heed_layer_inputs shapes = GIVEN_INPUTS;
  return heed_layer_initialize(layer, &shapes, (uint64_t)seed);
}

/* A new tensor for the one output that `wanted` names, one of HEED_WANT_... */
static heed_status heed_layer_create_output(heed_layer* layer, INPUTS, int32_t wanted, heed_tensor** result) {
  heed_layer_inputs inputs = GIVEN_INPUTS;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_status status = heed_layer_create_outputs(layer, &inputs, wanted, &outputs);
  if (status == HEED_OK) {
    *result = wanted == HEED_WANT_OUTPUT    ? outputs.output
              : wanted == HEED_WANT_WEIGHTS ? outputs.weights
                                            : outputs.log_sum_exp;
  }
  return status;
}

static heed_status heed_layer_workspace_bytes(heed_layer* layer, INPUTS, OUTPUTS, int64_t* result) {
  heed_layer_inputs inputs = GIVEN_INPUTS;
  heed_layer_outputs outputs = GIVEN_OUTPUTS;
  size_t num_bytes = 0;
  heed_status status = heed_layer_workspace_size(layer, &inputs, &outputs, &num_bytes);
  *result = (int64_t)num_bytes;
  return status;
}

static heed_status heed_layer_run(heed_layer* layer, INPUTS, int64_t dropout_seed, int32_t training,
                                  heed_workspace* workspace, OUTPUTS) {
  heed_layer_inputs inputs = GIVEN_INPUTS;
  heed_layer_outputs outputs = GIVEN_OUTPUTS;
  inputs.dropout_seed = (uint64_t)dropout_seed;
  inputs.training = training;
  return heed_layer_forward(layer, &inputs, workspace, &outputs);
}

/* *result gets the bytes that the whole text needs; text NULL only asks that. */
static heed_status heed_layer_explanation(heed_layer* layer, INPUTS, int32_t training, OUTPUTS, char* text,
                                          size_t capacity, int64_t* result) {
  heed_layer_inputs inputs = GIVEN_INPUTS;
  heed_layer_outputs outputs = GIVEN_OUTPUTS;
  size_t num_bytes = 0;
  heed_status status;
  inputs.training = training;
  status = heed_layer_explain(layer, &inputs, &outputs, text, capacity, &num_bytes);
  *result = (int64_t)num_bytes;
  return status;
}

/* *result gets the bytes of the file; destination NULL only asks that. */
static heed_status heed_layer_save_bytes(heed_layer* layer, void* destination, size_t capacity, int64_t* result) {
  size_t num_bytes = 0;
  heed_status status = heed_layer_save_memory(layer, destination, capacity, &num_bytes);
  *result = (int64_t)num_bytes;
  return status;
}

static heed_status heed_workspace_of(heed_context* context, int64_t num_bytes, heed_workspace** result) {
  return heed_workspace_create(context, (size_t)num_bytes, result);
}

static int64_t heed_workspace_size(heed_workspace* workspace) { return (int64_t)heed_workspace_num_bytes(workspace); }
%}

%include <stdint.i>
/* SWIG 4.1 takes int64_t for a 32-bit int otherwise; the build also defines SWIGWORDSIZE64. */
%apply long long { int64_t }

%nodefaultctor;
%nodefaultdtor;

%typemap(in, numinputs=0) heed_context** result (heed_context* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_tensor** result (heed_tensor* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_weights** result (heed_weights* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_layer** result (heed_layer* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_workspace** result (heed_workspace* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) int64_t* result (int64_t value = 0) "$1 = &value;"

#define DIMS (int32_t rank, const int64_t* dims)
#define INPUTS heed_tensor* queries, heed_tensor* keys, heed_tensor* values, heed_tensor* valid_lens, \
               heed_tensor* mask, heed_tensor* bias
#define OUTPUTS heed_tensor* output, heed_tensor* weights, heed_tensor* log_sum_exp

#ifdef SWIGJAVA
%include "heed_java.i"
#else
%include "heed_csharp.i"
#endif

%handle(heed_context, NativeContext, "the context is closed")
%handle(heed_tensor, NativeTensor, "the array is closed")
%handle(heed_weights, NativeWeights, "the set of weights is closed")
%handle(heed_layer, NativeLayer, "the block, or the manager that it was initialized with, is closed")
%handle(heed_workspace, NativeWorkspace, "the workspace is closed")

int32_t heed_version(void);
const char* heed_version_string(void);
int32_t heed_device_count(int32_t device);

typedef struct heed_context {} heed_context;
%extend heed_context {
  static made_context open(int32_t device, int32_t device_index, int32_t num_threads, int32_t strict,
                           int32_t allow_reduced_precision, heed_context** result);
  ~heed_context() { heed_context_destroy($self); }

  heed_status synchronize();
  heed_status trim();
  status_int64 description(char* text, size_t capacity, int64_t* result);
  heed_status scaled_dot_product_attention(float scale, float soft_cap, float dropout, int32_t causal, int32_t window,
                                           int64_t window_left, int64_t window_right, int32_t empty_rows, INPUTS,
                                           int64_t dropout_seed, int32_t training, OUTPUTS);
}

typedef struct heed_tensor {} heed_tensor;
%extend heed_tensor {
  static allocated_tensor create(heed_context* context, int32_t dtype, int32_t rank, const int64_t* dims,
                                 heed_tensor** result);
  static made_tensor shape_only(heed_context* context, int32_t dtype, int32_t rank, const int64_t* dims,
                                heed_tensor** result);
  static made_tensor over(heed_context* context, int32_t dtype, int32_t rank, const int64_t* dims, void* memory,
                          heed_tensor** result);
  static allocated_tensor load_safetensors(heed_context* context, const char* path, const char* name,
                                           heed_tensor** result);
  static allocated_tensor load_npy(heed_context* context, const char* path, heed_tensor** result);
  ~heed_tensor() { heed_tensor_destroy($self); }

  getter_int32 dtype();
  getter_int32 rank();
  getter_int64 dim(int32_t axis);
  getter_int64 stride(int32_t axis);
  getter_int64 num_bytes();
  tensor_memory data();

  heed_status fill(double value);
  heed_status fill_arange(double start, double step);
  heed_status fill_uniform(double low, double high, int64_t seed);
  heed_status fill_normal(double mean, double standard_deviation, int64_t seed);
  heed_status copy(heed_tensor* source);
  heed_status save_npy(const char* path);

  tensor_view reshape(int32_t rank, const int64_t* dims, heed_tensor** result);
  /* axes must have as many entries as the tensor has axes: the façades check it. */
  tensor_view transpose(const int32_t* axes, heed_tensor** result);
  tensor_view slice(int32_t axis, int64_t start, int64_t length, heed_tensor** result);

  heed_status set_matmul(heed_tensor* a, heed_tensor* b);
  heed_status set_softmax(heed_tensor* tensor, int32_t axis);
  heed_status set_masked_softmax(heed_tensor* scores, heed_tensor* valid_lens);

#ifdef SWIGJAVA
  heed_status write(const java_float* source, size_t num_bytes);
  heed_status write(const java_double* source, size_t num_bytes);
  heed_status write(const java_int* source, size_t num_bytes);
  heed_status write(const java_long* source, size_t num_bytes);
  heed_status write(const java_byte* source, size_t num_bytes);
  heed_status write(const java_boolean* source, size_t num_bytes);
  heed_status read(java_float* destination, size_t num_bytes);
  heed_status read(java_double* destination, size_t num_bytes);
  heed_status read(java_int* destination, size_t num_bytes);
  heed_status read(java_long* destination, size_t num_bytes);
  heed_status read(java_byte* destination, size_t num_bytes);
  heed_status read(java_boolean* destination, size_t num_bytes);
#endif
  /* In Java a direct buffer from its first byte on: the façade slices it. */
  heed_status write(const void* source, size_t num_bytes);
  heed_status read(void* destination, size_t num_bytes);
}

typedef struct heed_weights {} heed_weights;
%extend heed_weights {
  static made_weights open(heed_context* context, const char* path, heed_weights** result);
  /* The memory must stay valid, and as it is, until the weights are destroyed. */
  static made_weights of_memory(heed_context* context, const void* data, size_t num_bytes, heed_weights** result);
  ~heed_weights() { heed_weights_destroy($self); }

  getter_int64 count();
  status_int64 name_text(int64_t index, char* text, size_t capacity, int64_t* result);
  getter_int32 dtype(int64_t index);
  status_int64 type_text(int64_t index, char* text, size_t capacity, int64_t* result);
  getter_int32 rank(int64_t index);
  getter_int64 dim(int64_t index, int32_t axis);
}

typedef struct heed_layer {} heed_layer;
%extend heed_layer {
  static made_layer linear(heed_context* context, int64_t output_size, int32_t no_bias, heed_layer** result);
  static made_layer dropout(heed_context* context, float dropout, heed_layer** result);
  static made_layer dot_product_attention(heed_context* context, float scale, float soft_cap, float dropout,
                                          int32_t causal, int32_t window, int64_t window_left, int64_t window_right,
                                          int32_t empty_rows, heed_layer** result);
  static made_layer additive_attention(heed_context* context, int64_t num_hiddens, float scale, float soft_cap,
                                       float dropout, int32_t causal, int32_t window, int64_t window_left,
                                       int64_t window_right, int32_t empty_rows, heed_layer** result);
  static made_layer multi_head_attention(heed_context* context, int64_t num_hiddens, int64_t num_heads,
                                         int64_t num_kv_heads, int64_t head_size, int64_t value_head_size,
                                         int64_t output_size, int32_t no_output_projection, int32_t biases,
                                         int32_t scoring, float scale, float soft_cap, float dropout, int32_t causal,
                                         int32_t window, int64_t window_left, int64_t window_right, int32_t empty_rows,
                                         heed_layer** result);
  ~heed_layer() { heed_layer_destroy($self); }

  heed_status initialize_for(INPUTS, int64_t seed);
  getter_int32 is_initialized();
  getter_int64 parameter_count();
  getter_text parameter_name(int64_t index);
  derived_tensor parameter(const char* name, heed_tensor** result);
  heed_status set_parameter(const char* name, heed_tensor* value);
  heed_status load(const char* path, const char* prefix);
  heed_status load_memory(const void* data, size_t num_bytes, const char* prefix);
  heed_status load_from(heed_weights* weights, const char* prefix, const char* accept);
  heed_status save(const char* path);
  status_int64 save_bytes(void* destination, size_t capacity, int64_t* result);

  allocated_output create_output(INPUTS, int32_t wanted, heed_tensor** result);
  status_int64 workspace_bytes(INPUTS, OUTPUTS, int64_t* result);
  heed_status run(INPUTS, int64_t dropout_seed, int32_t training, heed_workspace* workspace, OUTPUTS);
  status_int64 explanation(INPUTS, int32_t training, OUTPUTS, char* text, size_t capacity, int64_t* result);
}

typedef struct heed_workspace {} heed_workspace;
%extend heed_workspace {
  static made_workspace of(heed_context* context, int64_t num_bytes, heed_workspace** result);
  ~heed_workspace() { heed_workspace_destroy($self); }

  getter_int64 size();
}
