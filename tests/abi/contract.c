/* SPDX-License-Identifier: Apache-2.0 */
/* The C contract of heed, as a program. It compiles (C11, -Wall -Wextra -Wpedantic -Werror) against <heed/heed.h> exactly when the header
 * declares every name below with this type and this value. Programs outside the project are compiled against these names.
 * Order of members, doc comments and further members or functions are the project's to choose. A function that is not built yet is not declared:
 * until the whole surface is, -DMAIN_JOB_ONLY leaves out what comes second. */
#include <heed/heed.h>

#ifdef MAIN_JOB_ONLY
#define WHOLE_SURFACE(...) extern int contract_left_out
#else
#define WHOLE_SURFACE(...) __VA_ARGS__
#endif

#define TYPE_OF(type, expression) _Static_assert(_Generic((expression), type: 1, default: 0), #expression " must have type " #type)
#define VALUE(name, value) _Static_assert((name) == (value), #name " must be " #value)
#define MEMBER(type, structure, member) TYPE_OF(type, ((structure*)0)->member)
#define FUNCTION(result, name, ...) result (*const contract_##name)(__VA_ARGS__) = name; extern result (*const contract_##name)(__VA_ARGS__)
#define INITIALISER(structure, macro) const structure contract_of_##structure = macro; extern const structure contract_of_##structure

/* ---- values ---- */
VALUE(HEED_OK, 0);                       VALUE(HEED_ERROR_INVALID_ARGUMENT, 1);   VALUE(HEED_ERROR_OUT_OF_MEMORY, 2);
VALUE(HEED_ERROR_UNSUPPORTED, 3);        VALUE(HEED_ERROR_NOT_INITIALIZED, 4);    VALUE(HEED_ERROR_WORKSPACE_TOO_SMALL, 5);
VALUE(HEED_ERROR_BUSY, 6);               VALUE(HEED_ERROR_IO, 7);                 VALUE(HEED_ERROR_CORRUPT_FILE, 8);
VALUE(HEED_ERROR_NOT_FOUND, 9);          VALUE(HEED_ERROR_CACHE_FULL, 10);        VALUE(HEED_ERROR_DEVICE_UNAVAILABLE, 11);
VALUE(HEED_ERROR_DEVICE_LOST, 12);       VALUE(HEED_ERROR_NOT_FASTEST, 13);       VALUE(HEED_ERROR_INTERNAL, 14);
VALUE(HEED_F32, 0);  VALUE(HEED_F16, 1); VALUE(HEED_BF16, 2); VALUE(HEED_F64, 3); VALUE(HEED_I32, 4);
VALUE(HEED_I64, 5);  VALUE(HEED_I8, 6);  VALUE(HEED_U8, 7);   VALUE(HEED_BOOL, 8);
VALUE(HEED_DEVICE_CPU, 0);               VALUE(HEED_DEVICE_ASCEND, 1);
VALUE(HEED_CAUSAL_NONE, 0);              VALUE(HEED_CAUSAL_TOP_LEFT, 1);          VALUE(HEED_CAUSAL_BOTTOM_RIGHT, 2);
VALUE(HEED_WINDOW_NONE, 0);              VALUE(HEED_WINDOW_TOP_LEFT, 1);          VALUE(HEED_WINDOW_BOTTOM_RIGHT, 2);
VALUE(HEED_EMPTY_ROWS_ZERO, 0);          VALUE(HEED_EMPTY_ROWS_MEAN, 1);
VALUE(HEED_SCORING_DOT_PRODUCT, 0);      VALUE(HEED_SCORING_ADDITIVE, 1);
VALUE(HEED_BIAS_NONE, 0); VALUE(HEED_BIAS_Q, 1); VALUE(HEED_BIAS_K, 2); VALUE(HEED_BIAS_V, 4); VALUE(HEED_BIAS_O, 8); VALUE(HEED_BIAS_ALL, 15);
VALUE(HEED_WANT_OUTPUT, 1);              VALUE(HEED_WANT_WEIGHTS, 2);             VALUE(HEED_WANT_LOG_SUM_EXP, 4);

/* ---- structs: struct_size first, initialiser macro, no implicit padding, no struct by value inside another ---- */
_Static_assert(offsetof(heed_context_options, struct_size) == 0 && offsetof(heed_layer_inputs, struct_size) == 0, "struct_size comes first");
MEMBER(int32_t, heed_context_options, device);                     MEMBER(int32_t, heed_context_options, device_index);
MEMBER(int32_t, heed_context_options, num_threads);                MEMBER(int32_t, heed_context_options, strict);
MEMBER(int32_t, heed_context_options, allow_reduced_precision);
MEMBER(const heed_allocator*, heed_context_options, allocator);    MEMBER(const heed_executor*, heed_context_options, executor);
MEMBER(const heed_logger*, heed_context_options, logger);
INITIALISER(heed_context_options, HEED_CONTEXT_OPTIONS_INIT);

typedef void* allocate_function(void* user, size_t num_bytes, size_t alignment);
typedef void release_function(void* user, void* memory, size_t num_bytes);
typedef void run_function(void* task, int64_t item);
typedef void parallel_for_function(void* user, int64_t num_items, run_function* run, void* task);
typedef void write_function(void* user, int32_t level, const char* text);
typedef void free_data_function(void* user, void* data);
MEMBER(allocate_function*, heed_allocator, allocate);   MEMBER(release_function*, heed_allocator, release);   MEMBER(void*, heed_allocator, user);
MEMBER(parallel_for_function*, heed_executor, parallel_for); MEMBER(int64_t, heed_executor, num_threads);      MEMBER(void*, heed_executor, user);
MEMBER(write_function*, heed_logger, write);            MEMBER(void*, heed_logger, user);
INITIALISER(heed_allocator, HEED_ALLOCATOR_INIT);       INITIALISER(heed_executor, HEED_EXECUTOR_INIT);        INITIALISER(heed_logger, HEED_LOGGER_INIT);

MEMBER(float, heed_dot_product_attention_options, scale);          MEMBER(float, heed_dot_product_attention_options, soft_cap);
MEMBER(float, heed_dot_product_attention_options, dropout);        MEMBER(int32_t, heed_dot_product_attention_options, causal);
MEMBER(int32_t, heed_dot_product_attention_options, window);       MEMBER(int64_t, heed_dot_product_attention_options, window_left);
MEMBER(int64_t, heed_dot_product_attention_options, window_right); MEMBER(int32_t, heed_dot_product_attention_options, empty_rows);
INITIALISER(heed_dot_product_attention_options, HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);

WHOLE_SURFACE(MEMBER(int64_t, heed_additive_attention_options, num_hiddens));
WHOLE_SURFACE(MEMBER(float, heed_additive_attention_options, dropout));
WHOLE_SURFACE(MEMBER(int32_t, heed_additive_attention_options, empty_rows));
WHOLE_SURFACE(INITIALISER(heed_additive_attention_options, HEED_ADDITIVE_ATTENTION_OPTIONS_INIT));

MEMBER(int64_t, heed_multi_head_attention_options, num_hiddens);     MEMBER(int64_t, heed_multi_head_attention_options, num_heads);
MEMBER(int64_t, heed_multi_head_attention_options, num_kv_heads);    MEMBER(int64_t, heed_multi_head_attention_options, head_size);
MEMBER(int64_t, heed_multi_head_attention_options, value_head_size); MEMBER(int64_t, heed_multi_head_attention_options, output_size);
MEMBER(int32_t, heed_multi_head_attention_options, no_output_projection);
MEMBER(int32_t, heed_multi_head_attention_options, biases);          MEMBER(int32_t, heed_multi_head_attention_options, scoring);
MEMBER(float, heed_multi_head_attention_options, dropout);           MEMBER(float, heed_multi_head_attention_options, scale);
MEMBER(float, heed_multi_head_attention_options, soft_cap);          MEMBER(int32_t, heed_multi_head_attention_options, causal);
MEMBER(int32_t, heed_multi_head_attention_options, window);          MEMBER(int64_t, heed_multi_head_attention_options, window_left);
MEMBER(int64_t, heed_multi_head_attention_options, window_right);    MEMBER(int32_t, heed_multi_head_attention_options, empty_rows);
INITIALISER(heed_multi_head_attention_options, HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT);

MEMBER(const heed_tensor*, heed_layer_inputs, queries);            MEMBER(const heed_tensor*, heed_layer_inputs, keys);
MEMBER(const heed_tensor*, heed_layer_inputs, values);             MEMBER(const heed_tensor*, heed_layer_inputs, valid_lens);
MEMBER(const heed_tensor*, heed_layer_inputs, mask);               MEMBER(const heed_tensor*, heed_layer_inputs, bias);
MEMBER(uint64_t, heed_layer_inputs, dropout_seed);                 MEMBER(int32_t, heed_layer_inputs, training);
INITIALISER(heed_layer_inputs, HEED_LAYER_INPUTS_INIT);
MEMBER(heed_tensor*, heed_layer_outputs, output);                  MEMBER(heed_tensor*, heed_layer_outputs, weights);
MEMBER(heed_tensor*, heed_layer_outputs, log_sum_exp);
INITIALISER(heed_layer_outputs, HEED_LAYER_OUTPUTS_INIT);

/* ---- functions ---- */
FUNCTION(int32_t, heed_version, void);                             /* 10000 * major + 100 * minor + patch */
FUNCTION(const char*, heed_version_string, void);
FUNCTION(const char*, heed_status_name, heed_status);
FUNCTION(heed_status, heed_last_status, void);
FUNCTION(const char*, heed_last_error, void);

FUNCTION(int32_t, heed_device_count, heed_device);                 /* 0 with the reason in the last error */
FUNCTION(heed_status, heed_context_create, const heed_context_options*, heed_context**);
FUNCTION(void, heed_context_destroy, heed_context*);
FUNCTION(heed_status, heed_context_synchronize, heed_context*);
FUNCTION(heed_status, heed_context_describe, const heed_context*, char* text, size_t capacity, size_t* num_bytes);

FUNCTION(heed_status, heed_tensor_create, heed_context*, heed_dtype, int32_t rank, const int64_t* dims, heed_tensor**);
FUNCTION(heed_status, heed_tensor_wrap, heed_context*, heed_dtype, int32_t rank, const int64_t* dims, const int64_t* strides, void* data,
         free_data_function* release, void* user, heed_tensor**);
FUNCTION(void, heed_tensor_destroy, heed_tensor*);
FUNCTION(heed_dtype, heed_tensor_dtype, const heed_tensor*);
FUNCTION(int32_t, heed_tensor_rank, const heed_tensor*);
FUNCTION(int64_t, heed_tensor_dim, const heed_tensor*, int32_t axis);
FUNCTION(int64_t, heed_tensor_stride, const heed_tensor*, int32_t axis);
FUNCTION(int64_t, heed_tensor_num_elements, const heed_tensor*);
FUNCTION(size_t, heed_tensor_num_bytes, const heed_tensor*);
FUNCTION(void*, heed_tensor_data, heed_tensor*);
FUNCTION(heed_status, heed_tensor_write, heed_tensor*, const void* source, size_t num_bytes);
FUNCTION(heed_status, heed_tensor_read, const heed_tensor*, void* destination, size_t num_bytes);
FUNCTION(heed_status, heed_tensor_fill, heed_tensor*, double value);
WHOLE_SURFACE(FUNCTION(heed_status, heed_tensor_fill_arange, heed_tensor*, double start, double step));
WHOLE_SURFACE(FUNCTION(heed_status, heed_tensor_fill_uniform, heed_tensor*, double low, double high, uint64_t seed));
WHOLE_SURFACE(FUNCTION(heed_status, heed_tensor_fill_normal, heed_tensor*, double mean, double standard_deviation, uint64_t seed));
FUNCTION(heed_status, heed_tensor_copy, heed_tensor* destination, const heed_tensor* source);
FUNCTION(heed_status, heed_tensor_view, heed_tensor*, int32_t rank, const int64_t* dims, const int64_t* strides, int64_t offset, heed_tensor**);
FUNCTION(heed_status, heed_tensor_reshape, heed_tensor*, int32_t rank, const int64_t* dims, heed_tensor**);
FUNCTION(heed_status, heed_tensor_transpose, heed_tensor*, const int32_t* axes, heed_tensor**);
FUNCTION(heed_status, heed_tensor_slice, heed_tensor*, int32_t axis, int64_t start, int64_t length, heed_tensor**);
FUNCTION(heed_status, heed_tensor_load_safetensors, heed_context*, const char* path, const char* name, heed_tensor**);
WHOLE_SURFACE(FUNCTION(heed_status, heed_tensor_load_npy, heed_context*, const char* path, heed_tensor**));
WHOLE_SURFACE(FUNCTION(heed_status, heed_tensor_save_npy, const heed_tensor*, const char* path));
WHOLE_SURFACE(FUNCTION(heed_status, heed_tensor_to_dlpack, heed_tensor*, struct DLManagedTensor**));
WHOLE_SURFACE(FUNCTION(heed_status, heed_tensor_from_dlpack, heed_context*, struct DLManagedTensor*, heed_tensor**));

WHOLE_SURFACE(FUNCTION(heed_status, heed_matmul, const heed_tensor* a, const heed_tensor* b, heed_tensor* product));
WHOLE_SURFACE(FUNCTION(heed_status, heed_softmax, const heed_tensor*, int32_t axis, heed_tensor* result));
WHOLE_SURFACE(FUNCTION(heed_status, heed_masked_softmax, const heed_tensor* scores, const heed_tensor* valid_lens, heed_tensor* result));
WHOLE_SURFACE(FUNCTION(heed_status, heed_activation, const heed_tensor*, int32_t activation, heed_tensor* result));

FUNCTION(heed_status, heed_dot_product_attention_create, heed_context*, const heed_dot_product_attention_options*, heed_layer**);
WHOLE_SURFACE(FUNCTION(heed_status, heed_additive_attention_create, heed_context*, const heed_additive_attention_options*, heed_layer**));
FUNCTION(heed_status, heed_multi_head_attention_create, heed_context*, const heed_multi_head_attention_options*, heed_layer**);
FUNCTION(void, heed_layer_destroy, heed_layer*);
FUNCTION(heed_status, heed_layer_initialize, heed_layer*, const heed_layer_inputs* shapes, uint64_t seed);
FUNCTION(int32_t, heed_layer_is_initialized, const heed_layer*);
FUNCTION(int64_t, heed_layer_parameter_count, const heed_layer*);
FUNCTION(const char*, heed_layer_parameter_name, const heed_layer*, int64_t index);
FUNCTION(heed_status, heed_layer_parameter, const heed_layer*, const char* name, heed_tensor**);
FUNCTION(heed_status, heed_layer_parameter_shape, const heed_layer*, const char* name, heed_tensor**);
FUNCTION(heed_status, heed_layer_set_parameter, heed_layer*, const char* name, const heed_tensor*);
FUNCTION(heed_status, heed_layer_load, heed_layer*, const char* path, const char* prefix);
WHOLE_SURFACE(FUNCTION(heed_status, heed_layer_load_memory, heed_layer*, const void* data, size_t num_bytes, const char* prefix));
FUNCTION(heed_status, heed_layer_save, const heed_layer*, const char* path);
WHOLE_SURFACE(FUNCTION(heed_status, heed_layer_save_memory, const heed_layer*, void* destination, size_t capacity, size_t* num_bytes));
FUNCTION(heed_status, heed_layer_create_outputs, const heed_layer*, const heed_layer_inputs*, int32_t wanted, heed_layer_outputs*);
FUNCTION(heed_status, heed_layer_workspace_size, const heed_layer*, const heed_layer_inputs*, const heed_layer_outputs*, size_t* num_bytes);
FUNCTION(heed_status, heed_layer_forward, const heed_layer*, const heed_layer_inputs*, heed_workspace*, const heed_layer_outputs*);
FUNCTION(heed_status, heed_layer_explain, const heed_layer*, const heed_layer_inputs*, const heed_layer_outputs*, char* text, size_t capacity, size_t* num_bytes);

FUNCTION(heed_status, heed_workspace_create, heed_context*, size_t num_bytes, heed_workspace**);
FUNCTION(heed_status, heed_workspace_wrap, heed_context*, void* memory, size_t num_bytes, heed_workspace**);
FUNCTION(size_t, heed_workspace_num_bytes, const heed_workspace*);
FUNCTION(void, heed_workspace_destroy, heed_workspace*);

int main(void) { return 0; }
