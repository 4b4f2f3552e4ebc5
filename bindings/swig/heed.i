// SPDX-License-Identifier: Apache-2.0
/*
 * The native half of the Java and C# bindings. Only the classes in bindings/java and bindings/csharp (the façades) use
 * it:
 *   handles    NativeContext, NativeTensor, NativeWeights, NativeLayer, NativeWorkspace, NativeCache, NativeGradients,
 *              NativeOptimizer and NativeSaved, over heed.h's opaque objects
 *   structs    NativeLayerInputs, NativeSequenceInputs, NativeCacheInputs, NativeLayerOutputs, NativeLayerTap,
 *              NativeLayerGradients, NativeStepPart and the options, with a setter and a getter for each member; heed_progress is filled in without one
 *
 * The structs, the functions heed_tensor_fill... and the operations on tensors, such as heed_matmul, are read from heed.h
 * (take_declarations.cmake): a member or such a function that is added there is in both languages without a change here. A new struct needs one line, %struct(...)
 * below, and if a member points to it, one more, %pointed_to(...).
 *
 * Methods are listed in %extend without bodies: SWIG then calls the C function heed_<type>_<method>. Functions of heed.h
 * with other names are listed at the end, and become static methods of HeedNative.
 *
 * The return type in the list says what a wrapped function returns. Each of these types is heed_status in C, and the C
 * function writes the value to its last argument:
 *   heed_status                  nothing
 *   static_status                nothing, from a static method
 *   status_size                  a number of bytes
 *   static_size                  the same, from a static method
 *   static_number                a number, from a static method
 *   made_context, made_tensor, made_weights, made_layer, made_workspace, made_cache, made_gradients, made_optimizer,
 *   made_saved                   a new object, from a static method
 *   allocated_tensor             the same, with memory of its own
 *   derived_tensor               a new object with memory of its own, from a method
 *   shape_tensor                 a new object without memory, from a method
 *   derived_layer                a child of a layer, from a method
 *   tensor_view                  a new object that shares the memory of the one it is made from
 * Plain getters are listed as getter_int32, getter_int64, getter_size and getter_text. Every status except HEED_OK
 * becomes an exception with heed's sentence, in the words of the language (said.h, terms.c).
 *
 * Not wrapped, and why: tests/bindings/not_wrapped.txt.
 */
%module HeedNative

%{
#include <heed/heed.h>
#include <stdlib.h>
#include <string.h>

#include "lists.h"
#include "said.h"

typedef heed_status static_status, status_size, static_size, static_number, made_context, made_tensor, made_weights, made_layer,
    made_workspace, made_cache, made_gradients, made_optimizer, made_saved, derived_tensor, shape_tensor, derived_layer,
    allocated_tensor, tensor_view;
typedef int32_t getter_int32;
typedef int64_t getter_int64;
typedef size_t getter_size;
typedef const char *getter_text, *static_text;
typedef void* tensor_memory;
typedef void (*release_function)(void* user, void* data);

/* DataType, Device and the wanted outputs repeat these numbers in both languages, which heed.h promises never to change.
 * Other enumerations are generated from heed.h. */
typedef char numbers_of_the_facades[HEED_F32 == 0 && HEED_F16 == 1 && HEED_BF16 == 2 && HEED_F64 == 3 &&
                                    HEED_I32 == 4 && HEED_I64 == 5 && HEED_I8 == 6 && HEED_U8 == 7 && HEED_BOOL == 8 &&
                                    HEED_DEVICE_CPU == 0 && HEED_DEVICE_ASCEND == 1 && HEED_WANT_OUTPUT == 1 &&
                                    HEED_WANT_WEIGHTS == 2 && HEED_WANT_LOG_SUM_EXP == 4
                                        ? 1
                                        : -1];

/* Whether this thread's calls report nothing: those whose failure is an answer to the classes of the language. */
static __thread int32_t is_quiet;
static void set_quiet(int32_t quiet) { is_quiet = quiet; }
%}

%include <stdint.i>
/* SWIG 4.1 takes int64_t for a 32-bit int otherwise; the build also defines SWIGWORDSIZE64. A seed is any 64 bits, a
 * signed number in both languages. */
%apply long long { int64_t, uint64_t }

%nodefaultctor;
%nodefaultdtor;

%typemap(in, numinputs=0) heed_context** result (heed_context* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_tensor** result (heed_tensor* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_weights** result (heed_weights* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_layer** result (heed_layer* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_workspace** result (heed_workspace* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_cache** result (heed_cache* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_gradients** result (heed_gradients* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_optimizer** result (heed_optimizer* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) heed_saved** result (heed_saved* value = NULL) "$1 = &value;"
%typemap(in, numinputs=0) double* total (double value = 0), double* norm (double value = 0) "$1 = &value;"
%typemap(in, numinputs=0) size_t* num_bytes (size_t value = 0) "$1 = &value;"
%typemap(in, numinputs=0) const int64_t* row_major, release_function no_release, void* no_user "$1 = NULL;"

#define DIMS (int32_t rank, const int64_t* dims)

#ifdef SWIGJAVA
%include "heed_java.i"
#else
%include "heed_csharp.i"
#endif

/* ---- Structs ----------------------------------------------------------------------------------------------------- */

/* A struct of heed.h, which begins with the values of its macro. */
%define %struct(CTYPE, PROXY, INIT)
%struct_proxy(CTYPE, PROXY)
%rename(PROXY) CTYPE;
%extend CTYPE {
  CTYPE() {
    static const CTYPE initial = INIT;
    CTYPE* made = (CTYPE*)malloc(sizeof *made);
    if (made) *made = initial;
    return made;
  }
  ~CTYPE() { free($self); }
}
%enddef

%struct(heed_context_options, NativeContextOptions, HEED_CONTEXT_OPTIONS_INIT)
%struct(heed_linear_options, NativeLinearOptions, HEED_LINEAR_OPTIONS_INIT)
%struct(heed_dropout_options, NativeDropoutOptions, HEED_DROPOUT_OPTIONS_INIT)
%struct(heed_positional_encoding_options, NativePositionalEncodingOptions, HEED_POSITIONAL_ENCODING_OPTIONS_INIT)
%struct(heed_rope_options, NativeRopeOptions, HEED_ROPE_OPTIONS_INIT)
%struct(heed_dot_product_attention_options, NativeDotProductAttentionOptions, HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT)
%struct(heed_additive_attention_options, NativeAdditiveAttentionOptions, HEED_ADDITIVE_ATTENTION_OPTIONS_INIT)
%struct(heed_general_attention_options, NativeGeneralAttentionOptions, HEED_GENERAL_ATTENTION_OPTIONS_INIT)
%struct(heed_multi_head_attention_options, NativeMultiHeadAttentionOptions, HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT)
%struct(heed_layer_norm_options, NativeLayerNormOptions, HEED_LAYER_NORM_OPTIONS_INIT)
%struct(heed_feed_forward_options, NativeFeedForwardOptions, HEED_FEED_FORWARD_OPTIONS_INIT)
%struct(heed_embedding_options, NativeEmbeddingOptions, HEED_EMBEDDING_OPTIONS_INIT)
%struct(heed_patch_embedding_options, NativePatchEmbeddingOptions, HEED_PATCH_EMBEDDING_OPTIONS_INIT)
%struct(heed_audio_embedding_options, NativeAudioEmbeddingOptions, HEED_AUDIO_EMBEDDING_OPTIONS_INIT)
%struct(heed_encoder_layer_options, NativeEncoderLayerOptions, HEED_ENCODER_LAYER_OPTIONS_INIT)
%struct(heed_decoder_layer_options, NativeDecoderLayerOptions, HEED_DECODER_LAYER_OPTIONS_INIT)
%struct(heed_encoder_options, NativeEncoderOptions, HEED_ENCODER_OPTIONS_INIT)
%struct(heed_decoder_options, NativeDecoderOptions, HEED_DECODER_OPTIONS_INIT)
%struct(heed_output_options, NativeOutputOptions, HEED_OUTPUT_OPTIONS_INIT)
%struct(heed_transformer_options, NativeTransformerOptions, HEED_TRANSFORMER_OPTIONS_INIT)
%struct(heed_cache_options, NativeCacheOptions, HEED_CACHE_OPTIONS_INIT)
%struct(heed_cache_inputs, NativeCacheInputs, HEED_CACHE_INPUTS_INIT)
%struct(heed_sequence_inputs, NativeSequenceInputs, HEED_SEQUENCE_INPUTS_INIT)
%struct(heed_decoder_inputs, NativeDecoderInputs, HEED_DECODER_INPUTS_INIT)
%struct(heed_layer_inputs, NativeLayerInputs, HEED_LAYER_INPUTS_INIT)
%struct(heed_layer_tap, NativeLayerTap, HEED_LAYER_TAP_INIT)
%struct(heed_layer_outputs, NativeLayerOutputs, HEED_LAYER_OUTPUTS_INIT)
%struct(heed_load_options, NativeLoadOptions, HEED_LOAD_OPTIONS_INIT)
%struct(heed_model_options, NativeModelOptions, HEED_MODEL_OPTIONS_INIT)
%struct(heed_cross_entropy_options, NativeCrossEntropyOptions, HEED_CROSS_ENTROPY_OPTIONS_INIT)
%struct(heed_squared_error_options, NativeSquaredErrorOptions, HEED_SQUARED_ERROR_OPTIONS_INIT)
%struct(heed_sgd_options, NativeSgdOptions, HEED_SGD_OPTIONS_INIT)
%struct(heed_adamw_options, NativeAdamWOptions, HEED_ADAMW_OPTIONS_INIT)
%struct(heed_parameter_group, NativeParameterGroup, HEED_PARAMETER_GROUP_INIT)
%struct(heed_step_part, NativeStepPart, HEED_STEP_PART_INIT)
%struct(heed_layer_gradients, NativeLayerGradients, HEED_LAYER_GRADIENTS_INIT)
%pointed_to(heed_progress)
%pointed_to(heed_load_options)
%pointed_to(heed_rope_options)
%pointed_to(heed_multi_head_attention_options)
%pointed_to(heed_feed_forward_options)
%pointed_to(heed_layer_norm_options)
%pointed_to(heed_encoder_layer_options)
%pointed_to(heed_decoder_layer_options)
%pointed_to(heed_embedding_options)
%pointed_to(heed_patch_embedding_options)
%pointed_to(heed_audio_embedding_options)
%pointed_to(heed_positional_encoding_options)
%pointed_to(heed_output_options)
%pointed_to(heed_encoder_options)
%pointed_to(heed_decoder_options)
%pointed_to(heed_decoder_inputs)
%pointed_to(heed_cache_inputs)
%pointed_to(heed_sequence_inputs)
%pointed_to(heed_layer_tap* const)
%pointed_to(heed_step_part* const)
%pointed_to(heed_encoder_layer_options* const)
%pointed_to(heed_decoder_layer_options* const)
%ignore *::struct_size;
%ignore *::reserved;
%ignore *::reserved_2;
/* The host's own functions: heed would call managed ones on its own threads. Messages come by open_reporting. */
%ignore heed_allocator;
%ignore heed_executor;
%ignore heed_logger;
/* The language fills it in, or has a function that makes it. */
%ignore heed_progress;
%ignore heed_context_options::allocator;
%ignore heed_context_options::executor;
%ignore heed_context_options::logger;
%include "heed_structs.i"
#ifdef SWIGJAVA
%texts_are_arguments
#endif

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

%handle(heed_context, NativeContext, "the context is closed")
%handle(heed_tensor, NativeTensor, "the array is closed")
%handle(heed_weights, NativeWeights, "the set of weights is closed")
%handle(heed_layer, NativeLayer, "the block, or the manager that it was initialized with, is closed")
%handle(heed_workspace, NativeWorkspace, "the workspace is closed")
%handle(heed_cache, NativeCache, "the cache is closed")
%handle(heed_gradients, NativeGradients, "the gradients are closed")
%handle(heed_optimizer, NativeOptimizer, "the optimizer is closed")
%handle(heed_saved, NativeSaved, "what the forward saved is closed")

struct heed_context {};
%extend heed_context {
  static made_context create(heed_context_options* options, heed_context** result);
  ~heed_context() { heed_context_destroy($self); }

  heed_status synchronize();
  heed_status trim();
  status_size describe(char* text, size_t capacity, size_t* num_bytes);
}

struct heed_tensor {};
%extend heed_tensor {
  static allocated_tensor create(heed_context* context, int32_t dtype, int32_t rank, const int64_t* dims,
                                 heed_tensor** result);
  /* Row-major. The managed object keeps the memory alive until the tensor and its views are destroyed; without memory
   * the tensor has a shape only. */
  static made_tensor wrap(heed_context* context, int32_t dtype, int32_t rank, const int64_t* dims,
                          const int64_t* row_major, void* memory, release_function no_release, void* no_user,
                          heed_tensor** result);
  static allocated_tensor load_safetensors(heed_context* context, const char* path, const char* name,
                                           heed_tensor** result);
  static allocated_tensor load_npy(heed_context* context, const char* path, heed_tensor** result);
  ~heed_tensor() { heed_tensor_destroy($self); }

  getter_int32 dtype();
  getter_int32 rank();
  getter_int64 dim(int32_t axis);
  getter_int64 stride(int32_t axis);
  getter_size num_bytes();
  tensor_memory data();

  heed_status copy(heed_tensor* source);
  status_size to_text(char* text, size_t capacity, size_t* num_bytes);
  heed_status save_npy(const char* path);

  tensor_view reshape(int32_t rank, const int64_t* dims, heed_tensor** result);
  /* axes must have as many entries as the tensor has axes: the façades check it. */
  tensor_view transpose(const int32_t* axes, heed_tensor** result);
  tensor_view slice(int32_t axis, int64_t start, int64_t length, heed_tensor** result);
  /* strides must have as many entries as dims: the façades see to it. */
  tensor_view view(int32_t rank, const int64_t* dims, const int64_t* strides, int64_t offset, heed_tensor** result);

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

/* The functions that fill a tensor, as methods of it. */
%include "heed_fills.i"

struct heed_weights {};
%extend heed_weights {
  static made_weights open(heed_context* context, const char* path, heed_weights** result);
  /* The memory must stay valid, and as it is, until the weights are destroyed. */
  static made_weights open_memory(heed_context* context, const void* data, size_t num_bytes, heed_weights** result);
  ~heed_weights() { heed_weights_destroy($self); }

  getter_int64 count();
  getter_text name(int64_t index);
  getter_int32 dtype(int64_t index);
  getter_text dtype_name(int64_t index);
  getter_int32 rank(int64_t index);
  getter_int64 dim(int64_t index, int32_t axis);
}

struct heed_layer {};
%extend heed_layer {
  ~heed_layer() { heed_layer_destroy($self); }

  heed_status initialize(heed_layer_inputs* inputs, int64_t seed);
  getter_int32 is_initialized();
  getter_int64 child_count();
  getter_text kind();
  status_size options(char* text, size_t capacity, size_t* num_bytes);
  getter_text child_name(int64_t index);
  derived_layer child(const char* name, heed_layer** result);
  getter_int64 parameter_count();
  getter_text parameter_name(int64_t index);
  derived_tensor parameter(const char* name, heed_tensor** result);
  shape_tensor parameter_shape(const char* name, heed_tensor** result);
  heed_status set_parameter(const char* name, heed_tensor* value);
  heed_status cache_options(heed_cache_options* options);
  heed_status load(const char* path, const char* prefix);
  heed_status load_memory(const void* data, size_t num_bytes, const char* prefix);
  heed_status load_weights(heed_weights* weights, const char* prefix, heed_load_options* options);
  heed_status save(const char* path);
  status_size save_memory(void* destination, size_t capacity, size_t* num_bytes);

  heed_status create_outputs(heed_layer_inputs* inputs, int32_t wanted, heed_layer_outputs* outputs);
  heed_status create_tap(heed_layer_inputs* inputs, const char* name, int32_t wanted, heed_layer_tap* tap);
  status_size workspace_size(heed_layer_inputs* inputs, heed_layer_outputs* outputs, size_t* num_bytes);
  heed_status forward(heed_layer_inputs* inputs, heed_workspace* workspace, heed_layer_outputs* outputs);
  heed_status fill_cache(heed_layer_inputs* inputs, heed_workspace* workspace);
  status_size explain(heed_layer_inputs* inputs, heed_layer_outputs* outputs, char* text, size_t capacity,
                      size_t* num_bytes);

  heed_status set_trainable(const char* prefix, int32_t trainable);
  status_size saved_size(heed_layer_inputs* inputs, size_t* num_bytes);
  status_size backward_workspace_size(heed_layer_inputs* inputs, heed_layer_outputs* outputs,
                                      heed_layer_gradients* gradients, size_t* num_bytes);
  heed_status backward(heed_layer_inputs* inputs, heed_layer_outputs* outputs, heed_workspace* workspace,
                       heed_layer_gradients* gradients);
  status_size explain_backward(heed_layer_inputs* inputs, heed_layer_outputs* outputs, heed_layer_gradients* gradients,
                               char* text, size_t capacity, size_t* num_bytes);
}

struct heed_workspace {};
%extend heed_workspace {
  static made_workspace create(heed_context* context, size_t num_bytes, heed_workspace** result);
  ~heed_workspace() { heed_workspace_destroy($self); }

  getter_size num_bytes();
}

struct heed_cache {};
%extend heed_cache {
  static static_size size(heed_cache_options* options, size_t* num_bytes);
  static made_cache create(heed_context* context, heed_cache_options* options, heed_cache** result);
  ~heed_cache() { heed_cache_destroy($self); }

  getter_int64 length(int64_t sequence);
  getter_int64 first(int64_t sequence);
  getter_int64 num_rows(int64_t layer, int64_t sequence);
  getter_int64 free_pages();

  heed_status reserve(int64_t sequence, int64_t length);
  heed_status rewind(int64_t sequence, int64_t length);
  heed_status fork(int64_t from, int64_t length, int64_t to);
  heed_status reorder(const int64_t* sources, int64_t num_sources);
  heed_status accept(int64_t sequence, int64_t from, const int64_t* kept, int64_t num_kept);
  heed_status discard(int64_t sequence, int64_t first, int64_t num_rows, int32_t renumber);
  heed_status read(int64_t layer, int64_t sequence, heed_tensor* keys, heed_tensor* values);

  heed_status save(int64_t sequence, const char* path);
  heed_status load(int64_t sequence, const char* path);
  status_size save_memory(int64_t sequence, void* destination, size_t capacity, size_t* num_bytes);
  heed_status load_memory(int64_t sequence, const void* data, size_t num_bytes);
}

struct heed_gradients {};
%extend heed_gradients {
  static made_gradients create(heed_layer* layer, heed_gradients** result);
  static made_gradients create_of_tensor(heed_tensor* value, const char* name, heed_gradients** result);
  ~heed_gradients() { heed_gradients_destroy($self); }

  getter_int64 count();
  getter_text name(int64_t index);
  tensor_view tensor(const char* name, heed_tensor** result);
  heed_status zero();
  heed_status scale(double factor);
  heed_status add(heed_gradients* addend);
}

struct heed_optimizer {};
%extend heed_optimizer {
  ~heed_optimizer() { heed_optimizer_destroy($self); }

  heed_status step(heed_layer* layer, heed_gradients* gradients);
  heed_status step_parts(const heed_step_part* const* parts, int64_t num_parts);
  heed_status set_learning_rate(double learning_rate);
  heed_status set_group(const char* prefix, heed_parameter_group* group);
  heed_status save(const char* path);
  heed_status load(const char* path);
}

struct heed_saved {};
%extend heed_saved {
  static made_saved create(heed_context* context, size_t num_bytes, heed_saved** result);
  ~heed_saved() { heed_saved_destroy($self); }
}

#ifdef SWIGJAVA
%rename(setQuiet) set_quiet;
#endif
void set_quiet(int32_t quiet);

/* What forward of a layer takes in a list (lists.h). */
#ifdef SWIGJAVA
%rename(listOfInputs) list_of_inputs;
#endif
static_text list_of_inputs(heed_layer* layer);

/* A context whose messages go to the object of the language with this number, in the words of the language. */
%{
static heed_status open_reporting(heed_context_options* options, int64_t sink, heed_context** result) {
  heed_logger logger = HEED_LOGGER_INIT;
  heed_context_options reporting = *options;
  logger.write = report;
  logger.user = (void*)(intptr_t)sink;
  reporting.logger = &logger;
  return heed_context_create(&reporting, result);
}
%}
#ifdef SWIGJAVA
%rename(openReporting) open_reporting;
#endif
made_context open_reporting(heed_context_options* options, int64_t sink, heed_context** result);

/* ---- Functions of no object -------------------------------------------------------------------------------------- */

int32_t heed_version(void);
static_text heed_version_string(void);
int32_t heed_device_count(int32_t device);

made_layer heed_model_create(heed_context* context, const char* path, heed_model_options* options,
                             heed_layer** result);
made_layer heed_linear_create(heed_context* context, heed_linear_options* options, heed_layer** result);
made_layer heed_dropout_create(heed_context* context, heed_dropout_options* options, heed_layer** result);
made_layer heed_positional_encoding_create(heed_context* context, heed_positional_encoding_options* options,
                                           heed_layer** result);
made_layer heed_dot_product_attention_create(heed_context* context, heed_dot_product_attention_options* options,
                                             heed_layer** result);
made_layer heed_additive_attention_create(heed_context* context, heed_additive_attention_options* options,
                                          heed_layer** result);
made_layer heed_general_attention_create(heed_context* context, heed_general_attention_options* options,
                                         heed_layer** result);
made_layer heed_multi_head_attention_create(heed_context* context, heed_multi_head_attention_options* options,
                                            heed_layer** result);

made_layer heed_layer_norm_create(heed_context* context, heed_layer_norm_options* options, heed_layer** result);
made_layer heed_feed_forward_create(heed_context* context, heed_feed_forward_options* options, heed_layer** result);
made_layer heed_embedding_create(heed_context* context, heed_embedding_options* options, heed_layer** result);
made_layer heed_patch_embedding_create(heed_context* context, heed_patch_embedding_options* options,
                                       heed_layer** result);
made_layer heed_audio_embedding_create(heed_context* context, heed_audio_embedding_options* options,
                                       heed_layer** result);
made_layer heed_encoder_layer_create(heed_context* context, heed_encoder_layer_options* options, heed_layer** result);
made_layer heed_decoder_layer_create(heed_context* context, heed_decoder_layer_options* options, heed_layer** result);
made_layer heed_encoder_create(heed_context* context, heed_encoder_options* options, heed_layer** result);
made_layer heed_decoder_create(heed_context* context, heed_decoder_options* options, heed_layer** result);
made_layer heed_transformer_create(heed_context* context, heed_transformer_options* options, heed_layer** result);

%include "heed_operations.i"
static_status heed_concatenate(const heed_tensor* const* tensors, int64_t num_tensors, int32_t axis,
                               heed_tensor* output);
static_status heed_scaled_dot_product_attention(heed_context* context, heed_dot_product_attention_options* options,
                                                heed_layer_inputs* inputs, heed_layer_outputs* outputs);

static_number heed_cross_entropy(heed_tensor* logits, heed_tensor* labels, heed_tensor* valid_lens,
                                 heed_cross_entropy_options* options, heed_tensor* losses, double* total,
                                 heed_tensor* logits_gradient);
static_number heed_squared_error(heed_tensor* predictions, heed_tensor* targets, heed_squared_error_options* options,
                                 heed_tensor* losses, double* total, heed_tensor* predictions_gradient);
static_number heed_gradients_norm(heed_gradients* const* sets, int64_t num_sets, double* norm);
static_number heed_gradients_clip(heed_gradients* const* sets, int64_t num_sets, double max_norm, double* norm);
made_optimizer heed_sgd_create(heed_context* context, heed_sgd_options* options, heed_optimizer** result);
made_optimizer heed_adamw_create(heed_context* context, heed_adamw_options* options, heed_optimizer** result);
