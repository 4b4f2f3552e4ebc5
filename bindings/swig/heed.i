// SPDX-License-Identifier: Apache-2.0
/*
 * The native half of the Java and C# bindings: classes NativeContext, NativeTensor and NativeLayer over heed.h, which
 * only the façades in bindings/java and bindings/csharp see.
 *
 * Methods are listed in %extend without bodies: SWIG then calls the C function heed_<type>_<method>. A C function that
 * takes a struct is listed through a static function in the first %{ %} that takes the struct's members one by one.
 *
 * The type that a method is listed with tells what comes back; all of these spell heed_status in C, and the value goes
 * through `result`:
 *   heed_status                              nothing
 *   made_context, made_tensor, made_layer    a new object, from a static method
 *   derived_tensor                           a new object, from a method
 * Plain getters are listed as getter_int32 and getter_int64. Every status but HEED_OK becomes an exception with heed's
 * sentence.
 */
%module HeedNative

%{
#include <heed/heed.h>

typedef heed_status made_context, made_tensor, made_layer, derived_tensor;
typedef int32_t getter_int32;
typedef int64_t getter_int64;

/* DataType and Status of both languages repeat these numbers, which heed.h promises never to change. */
typedef char numbers_of_the_facades[HEED_F32 == 0 && HEED_F16 == 1 && HEED_BF16 == 2 && HEED_F64 == 3 &&
                                    HEED_I32 == 4 && HEED_I64 == 5 && HEED_I8 == 6 && HEED_U8 == 7 && HEED_BOOL == 8 &&
                                    HEED_OK == 0 && HEED_ERROR_INTERNAL == 14 && HEED_BIAS_NONE == 0 &&
                                    HEED_BIAS_ALL == 15 && HEED_WANT_OUTPUT == 1 && HEED_WANT_WEIGHTS == 2 ? 1 : -1];

static heed_status heed_context_open(heed_context** result) { return heed_context_create(NULL, result); }

static heed_status heed_tensor_shape_only(heed_context* context, heed_dtype dtype, int32_t rank, const int64_t* dims,
                                          heed_tensor** result) {
  return heed_tensor_wrap(context, dtype, rank, dims, NULL, NULL, NULL, NULL, result);
}

static heed_status heed_layer_multi_head_attention(heed_context* context, int64_t num_hiddens, int64_t num_heads,
                                                   float dropout, int32_t biases, heed_layer** result) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = num_hiddens;
  options.num_heads = num_heads;
  options.dropout = dropout;
  options.biases = biases;
  return heed_multi_head_attention_create(context, &options, result);
}

static heed_layer_inputs inputs_of(heed_tensor* queries, heed_tensor* keys, heed_tensor* values,
                                   heed_tensor* valid_lens) {
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries;
  inputs.keys = keys;
  inputs.values = values;
  inputs.valid_lens = valid_lens;
  return inputs;
}

static heed_status heed_layer_initialize_for(heed_layer* layer, heed_tensor* queries, heed_tensor* keys,
                                             heed_tensor* values, heed_tensor* valid_lens, int64_t seed) {
  heed_layer_inputs shapes = inputs_of(queries, keys, values, valid_lens);
  return heed_layer_initialize(layer, &shapes, (uint64_t)seed);
}

/* A read-only snapshot of one parameter, for its dtype. */
static heed_status heed_layer_snapshot(heed_layer* layer, int64_t index, heed_tensor** result) {
  return heed_layer_parameter(layer, heed_layer_parameter_name(layer, index), result);
}

/* Whether an initialized layer takes such inputs; only shapes and dtypes are read. */
static heed_status heed_layer_check_inputs(heed_layer* layer, heed_tensor* queries, heed_tensor* keys,
                                           heed_tensor* values, heed_tensor* valid_lens) {
  heed_layer_inputs inputs = inputs_of(queries, keys, values, valid_lens);
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_status status = heed_layer_create_outputs(layer, &inputs, HEED_WANT_LOG_SUM_EXP, &outputs);
  heed_tensor_destroy(outputs.log_sum_exp);
  return status;
}

/* A new tensor for the one output that `wanted` names: HEED_WANT_OUTPUT or HEED_WANT_WEIGHTS. */
static heed_status heed_layer_create_output(heed_layer* layer, heed_tensor* queries, heed_tensor* keys,
                                            heed_tensor* values, heed_tensor* valid_lens, int32_t wanted,
                                            heed_tensor** result) {
  heed_layer_inputs inputs = inputs_of(queries, keys, values, valid_lens);
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_status status = heed_layer_create_outputs(layer, &inputs, wanted, &outputs);
  if (status == HEED_OK) *result = wanted == HEED_WANT_OUTPUT ? outputs.output : outputs.weights;
  return status;
}

/* weights may be NULL: not wanted. */
static heed_status heed_layer_run(heed_layer* layer, heed_tensor* queries, heed_tensor* keys, heed_tensor* values,
                                  heed_tensor* valid_lens, int64_t dropout_seed, int32_t training, heed_tensor* output,
                                  heed_tensor* weights) {
  heed_layer_inputs inputs = inputs_of(queries, keys, values, valid_lens);
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.dropout_seed = (uint64_t)dropout_seed;
  inputs.training = training;
  outputs.output = output;
  outputs.weights = weights;
  return heed_layer_forward(layer, &inputs, NULL, &outputs);
}
%}

%include <stdint.i>
/* SWIG 4.1 takes int64_t for a 32-bit int otherwise; the build also defines SWIGWORDSIZE64. */
%apply long long { int64_t }

%nodefaultctor;
%nodefaultdtor;

%typemap(in, numinputs=0) heed_context** result (heed_context* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_tensor** result (heed_tensor* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_layer** result (heed_layer* value = NULL) "$1 = &value;"

#define DIMS (int32_t rank, const int64_t* dims)

#ifdef SWIGJAVA
%include "heed_java.i"
#else
%include "heed_csharp.i"
#endif

%handle(heed_context, NativeContext, "the context is closed")
%handle(heed_tensor, NativeTensor, "the array is closed")
%handle(heed_layer, NativeLayer, "the block, or the manager that it was initialized with, is closed")

int32_t heed_version(void);
const char* heed_version_string(void);
#ifdef SWIGCSHARP
const char* heed_last_error(void);
#endif

typedef struct heed_context {} heed_context;
%extend heed_context {
  static made_context open(heed_context** result);
  ~heed_context() { heed_context_destroy($self); }
}

typedef struct heed_tensor {} heed_tensor;
%extend heed_tensor {
  static made_tensor create(heed_context* context, int32_t dtype, int32_t rank, const int64_t* dims,
                            heed_tensor** result);
  static made_tensor shape_only(heed_context* context, int32_t dtype, int32_t rank, const int64_t* dims,
                                heed_tensor** result);
  static made_tensor load_safetensors(heed_context* context, const char* path, const char* name, heed_tensor** result);
  ~heed_tensor() { heed_tensor_destroy($self); }

  getter_int32 dtype();
  getter_int32 rank();
  getter_int64 dim(int32_t axis);
  heed_status fill(double value);
  heed_status copy(heed_tensor* source);
  derived_tensor reshape(int32_t rank, const int64_t* dims, heed_tensor** result);

#ifdef SWIGJAVA
  heed_status write(const java_float* source, size_t num_bytes);
  heed_status write(const java_int* source, size_t num_bytes);
  heed_status write(const java_long* source, size_t num_bytes);
  heed_status read(java_float* destination, size_t num_bytes);
  heed_status read(java_double* destination, size_t num_bytes);
  heed_status read(java_int* destination, size_t num_bytes);
  heed_status read(java_long* destination, size_t num_bytes);
#else
  heed_status write(const void* source, size_t num_bytes);
  heed_status read(void* destination, size_t num_bytes);
#endif
}

typedef struct heed_layer {} heed_layer;
%extend heed_layer {
  static made_layer multi_head_attention(heed_context* context, int64_t num_hiddens, int64_t num_heads, float dropout,
                                         int32_t biases, heed_layer** result);
  ~heed_layer() { heed_layer_destroy($self); }

  heed_status initialize_for(heed_tensor* queries, heed_tensor* keys, heed_tensor* values, heed_tensor* valid_lens,
                             int64_t seed);
  getter_int32 is_initialized();
  getter_int64 parameter_count();
  derived_tensor snapshot(int64_t index, heed_tensor** result);
  heed_status load(const char* path, const char* prefix);
  heed_status save(const char* path);
  heed_status check_inputs(heed_tensor* queries, heed_tensor* keys, heed_tensor* values, heed_tensor* valid_lens);
  derived_tensor create_output(heed_tensor* queries, heed_tensor* keys, heed_tensor* values, heed_tensor* valid_lens,
                               int32_t wanted, heed_tensor** result);
  heed_status run(heed_tensor* queries, heed_tensor* keys, heed_tensor* values, heed_tensor* valid_lens,
                  int64_t dropout_seed, int32_t training, heed_tensor* output, heed_tensor* weights);
}
