/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heed: attention as an embeddable library. This header is the whole public interface, and its manual. It compiles as
 * C99, as C++11 and as every later version of both.
 *
 * The smallest complete program: self-attention over two sentences of four words, the second sentence padded after
 * three words.
 *
 *     #include <heed/heed.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *       const int64_t dims[] = {2, 4, 100}, lens_dims[] = {2};
 *       const int32_t lens[] = {4, 3};
 *       heed_context* context = NULL;
 *       heed_tensor *words = NULL, *valid_lens = NULL;
 *       heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
 *       heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
 *       int failed = heed_context_create(NULL, &context) ||
 *                    heed_tensor_create(context, HEED_F32, 3, dims, &words) || heed_tensor_fill(words, 1.0) ||
 *                    heed_tensor_create_from(context, HEED_I32, 1, lens_dims, lens, &valid_lens) ||
 *                    heed_tensor_create(context, HEED_F32, 3, dims, &outputs.output);
 *       inputs.queries = words;  // keys and values default to the queries: self-attention
 *       inputs.valid_lens = valid_lens;
 *       failed = failed || heed_scaled_dot_product_attention(context, NULL, &inputs, &outputs);
 *       if (failed)
 *         fprintf(stderr, "%s\n", heed_last_error());
 *       else
 *         printf("(%d, %d, %d)\n", (int)heed_tensor_dim(outputs.output, 0), (int)heed_tensor_dim(outputs.output, 1),
 *                (int)heed_tensor_dim(outputs.output, 2));  // (2, 4, 100)
 *       heed_tensor_destroy(outputs.output);  // every destroy takes NULL
 *       heed_tensor_destroy(valid_lens);
 *       heed_tensor_destroy(words);
 *       heed_context_destroy(context);
 *       return failed;
 *     }
 *
 * Attention with projections is a layer: heed_multi_head_attention_create creates it, heed_layer_load loads trained
 * weights, and heed_layer_forward runs it. README.md has that program, docs/c.md is the guide for programs in C, and
 * docs/cookbook.md has whole programs by task.
 *
 * CONTENTS. A search for "- 1.5" leads to section 1.5. A name that begins with "_" has the first two words of the name
 * before it, such as heed_tensor. heed_<kind>_create makes a layer of a kind from heed_<kind>_options.
 *
 *   1.  Attention in one call
 *   1.1  Version                heed_version, _string
 *   1.2  Status and errors      heed_status_name, heed_last_status, _error, heed_message_part
 *   1.3  Context                heed_context_create, _destroy
 *   1.4  Tensor                 heed_tensor_create, _create_from, _wrap, _destroy, _dtype, _rank, _dim, _stride,
 *                               _num_elements, _num_bytes, _data, _write, _read, _to_text, _fill
 *   1.5  Attention              heed_dot_product_attention_options, heed_layer_inputs, _outputs,
 *                               heed_scaled_dot_product_attention
 *   2.  Layers
 *   2.1  Multi-head attention   heed_multi_head_attention_create, heed_layer_destroy, _kind, _options
 *   2.2  Parameters             heed_layer_initialize, _is_initialized, _load, _load_memory, _save, _save_memory,
 *                               _parameter_count, _parameter_name, _parameter, _parameter_shape, _set_parameter
 *   2.3  Workspace              heed_workspace_create, _wrap, _num_bytes, _destroy
 *   2.4  Calls                  heed_layer_create_outputs, _workspace_size, _forward, _explain
 *   2.5  Children               heed_layer_child_count, _child_name, _child, _tap, _create_tap
 *   3.  Options by topic, and the other kinds of layers
 *   3.1  Scores                 HEED_SCORING_..., HEED_QK_NORM_..., HEED_RELATIVE_BIAS_..., HEED_ALIBI_...
 *   3.2  Positions              heed_rope_options, heed_positional_encoding_create
 *   3.3  Padding and packing    heed_sequence_inputs
 *   3.4  Other attention        heed_dot_product_attention_create, heed_additive_attention_create,
 *                               heed_general_attention_create
 *   3.5  Parts of a network     heed_linear_create, heed_dropout_create, heed_layer_norm_create,
 *                               heed_feed_forward_create, heed_embedding_create, heed_patch_embedding_create,
 *                               heed_audio_embedding_create
 *   3.6  Encoders and decoders  heed_encoder_layer_create, heed_decoder_layer_create, heed_output_options,
 *                               heed_encoder_create, heed_decoder_create, heed_transformer_create, heed_decoder_inputs
 *   4.  Caches
 *   4.1  Cache                  heed_cache_size, heed_layer_cache_options, heed_cache_create, _destroy
 *   4.2  Calls with a cache     heed_cache_inputs, heed_layer_fill_cache
 *   4.3  Sequences              heed_cache_length, _first, _num_rows, _free_pages, _reserve, _rewind, _fork, _reorder,
 *                               _accept, _discard, _read
 *   4.4  Files of caches        heed_cache_save, _load, _save_memory, _load_memory
 *   5.  Models
 *   5.1  Models from folders    heed_load_options, heed_model_create, heed_layer_create_from_folder
 *   5.2  Weights                heed_weights_open, _open_memory, _destroy, _count, _name, _dtype, _dtype_name, _rank,
 *                               _dim, heed_layer_load_weights
 *   6.  The host, and more of contexts and tensors
 *   6.1  Callbacks of the host  heed_allocator, heed_executor, heed_logger
 *   6.2  Options of a context   heed_device_count, heed_context_options, _synchronize, _trim, _describe
 *   6.3  Progress               heed_progress
 *   6.4  Filling and copying    heed_tensor_fill_arange, _fill_alibi_slopes, _fill_uniform, _fill_normal, _copy
 *   6.5  Views                  heed_tensor_view, _reshape, _transpose, _slice
 *   6.6  Files of tensors       heed_tensor_load_safetensors, _load_npy, _save_npy
 *   6.7  DLPack                 heed_tensor_to_dlpack, _from_dlpack
 *   6.8  Operations on tensors  heed_matmul, heed_softmax, heed_log_softmax, heed_masked_softmax, heed_activation,
 *                               heed_rotary_embedding, heed_attention_merge
 *   6.9  Arithmetic             heed_elementwise, heed_add, heed_subtract, heed_multiply, heed_divide, heed_compare,
 *                               heed_select, heed_clip
 *   6.10 Reductions             heed_reduce, heed_reduce_axes, heed_cumulative_sum
 *   6.11 Order and selection    heed_sort, heed_top_k, heed_gather, heed_take, heed_concatenate
 *   7.  Training
 *   7.1  Gradients              heed_layer_set_trainable, heed_gradients_create, _create_of_tensor, _destroy, _count, _name,
 *                               _tensor, _zero, _scale, _add, _norm, _clip
 *   7.2  Losses                 heed_cross_entropy_options, heed_cross_entropy, heed_squared_error_options,
 *                               heed_squared_error
 *   7.3  Optimizers             heed_sgd_create, heed_adamw_create, heed_optimizer_step, _step_parts, _set_learning_rate,
 *                               _set_group, _save, _load, _destroy, heed_step_part, heed_parameter_group
 *   7.4  Backward               heed_layer_gradients, heed_layer_saved_size, heed_saved_create, _destroy,
 *                               heed_layer_backward_workspace_size, _backward, _explain_backward
 *
 * OBJECTS are opaque handles, created by a function that has the handle as its last out-parameter and freed by
 * heed_<type>_destroy, which accepts NULL. The comment of each says what makes, uses and frees it, and from which threads:
 *   heed_context (1.3)    a device with its options
 *   heed_tensor (1.4)     a strided array of elements
 *   heed_layer (2.1)      attention, or another part of a network, with its parameters
 *   heed_workspace (2.3)  scratch memory for one forward at a time
 *   heed_cache (4.1)      the keys and values of sequences that grow, such as texts that are generated
 *   heed_weights (5.2)    the named tensors of a model's files
 *   heed_gradients (7.1)  the gradients of a layer's parameters, or of one tensor
 *   heed_saved (7.4)      what a forward keeps for its backward
 *   heed_optimizer (7.3)  what changes the parameters of layers by their gradients, with its state
 * Every object holds references to what it needs (its context, its storage). Destroy drops the caller's reference, in
 * any order and from any thread. Objects that are still alive when their context's handle is destroyed keep working. A
 * handle that was destroyed must not be used again.
 *
 * ERRORS. Functions that can fail return heed_status; HEED_OK is 0. Plain getters return their value, or on a bad
 * handle or index -1, NULL or 0 bytes. Every failure stores its status and one sentence for the calling thread:
 * heed_last_status, heed_last_error. On failure out-parameters are unchanged, nothing is leaked, and every object is as
 * it was before the call, except that the tensors of outputs and gradients are undefined if a call fails while it
 * computes: one that is stopped (HEED_ERROR_CANCELLED), whose device fails, or whose executor has a defect (6.1). heed
 * never ends the process, never prints (a heed_logger gets its messages), and no C++ exception leaves a function. Nearly
 * every function can report these errors, which are not repeated below:
 *   HEED_ERROR_INVALID_ARGUMENT   a handle, required pointer or string is NULL; an enumeration or a struct's reserved
 *                                 member holds an unknown value; a struct's struct_size is smaller than in version 0.1
 *                                 or above 65536, so that the struct was not initialized by its macro; no other byte of
 *                                 it is read
 *   HEED_ERROR_UNSUPPORTED        a struct of a later version of heed sets a member that this version does not know
 *   HEED_ERROR_OUT_OF_MEMORY      memory could not be allocated
 *   HEED_ERROR_INTERNAL           a bug in heed: please report the sentence
 *
 * STRUCTS begin with struct_size. Always start from the macro (HEED_..._INIT), which sets it and gives every member its
 * default; a zero member means the default too, except in the options of losses and optimizers (7.2, 7.3). NULL options mean the macro's values. Later versions add members at the
 * end only; a program built against this header keeps working with them.
 *
 * TEXT RESULTS (char* text, size_t capacity, size_t* num_bytes): *num_bytes (num_bytes may be NULL if text is not) gets
 * the number of bytes of the whole text, including its terminating zero. With text NULL nothing else is done. Otherwise
 * as much of the text as fits is written, always terminated (capacity 0 is then an error).
 *
 * SIZES in elements are int64_t, in bytes size_t. Strides are in elements. Negative axes count from the end. The rank
 * of a tensor is at most 8. Letters in shapes: B batch, H query heads, Hkv key heads, Q queries (rows that attend), K
 * keys (what is attended to), D head size, Dv head size of values, E input size (Eq, Ek and Ev: of queries, keys and
 * values).
 *
 * STRINGS that are passed in end in a zero byte. Paths are UTF-8; names are compared byte by byte. Strings, like all
 * memory of the caller, are needed only until the call returns, unless the description of a function says otherwise.
 *
 * RULES FOR THE PROGRAM that uses heed, the host:
 *
 * THREADS. A context may be used from many threads at once. A tensor may be read from many threads; the caller must not
 * write it while another thread uses it. A layer may run forward from many threads at once, each with its own workspace
 * (or NULL); the caller must not change its parameters meanwhile. A workspace serves one call at a time; a second call
 * at the same time fails with HEED_ERROR_BUSY. These rules hold for every function whose description does not say
 * otherwise. heed_context_create says which threads a context computes on besides the calling thread.
 *
 * STACK. On the CPU a call takes at most 64 KB of stack on the calling thread, including the part of the C library, and
 * as much on each thread of an executor. Callbacks of the host come on top. The stack does not grow with the sizes of
 * tensors.
 *
 * ALLOCATION. On the CPU heed_layer_forward allocates nothing if it has a workspace; otherwise its scratch memory comes
 * from the context's pool, which allocates when it grows. All memory that outlives a call comes from the host's
 * heed_allocator, if it gives one; the comment there (6.1) says what else is allocated, and when.
 *
 * CALLBACKS OF THE HOST. The host is the program that uses heed. With a heed_allocator, all memory that outlives a call
 * comes from it; a heed_logger gets heed's messages; with a heed_executor, heed computes on the host's threads. heed
 * calls them on the thread whose call needs them, so possibly on many threads at once; a release may come on any thread
 * that drops a last reference. They may call heed: heed holds no lock meanwhile that such a call would wait for. They
 * run in the default floating-point environment, and must leave it as it is.
 *
 * FLOATING POINT. A thread may call heed in any floating-point environment. On every thread that takes part, calls
 * compute in the default one: round to nearest, no exception is trapped, subnormal numbers are kept, except where a
 * context's flush_subnormals says that they count as 0. When a call returns, on success and on failure, the thread has
 * its own environment again, with the exception flags that it had.
 *
 * MEANING. docs/semantics.md says what each option and input means, in every combination; numbers in brackets, such as
 * [rule 6], refer to its rules.
 *
 * STABILITY. Until 1.0 a minor version may change this interface; docs/abi.md says what may change and what is kept.
 */
#ifndef HEED_HEED_H
#define HEED_HEED_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define HEED_API
#else
#define HEED_API __attribute__((visibility("default")))
#endif

/* The fixed type lets C++ callers pass any number, too, which is then refused with an error. */
#ifdef __cplusplus
#define HEED_NOEXCEPT noexcept
#define HEED_INT32 : int32_t
extern "C" {
#else
#define HEED_NOEXCEPT
#define HEED_INT32
#endif

/* ==== 1. Attention in one call ==================================================================================== */

/* ---- 1.1 Version ------------------------------------------------------------------------------------------------- */

#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 1
#define HEED_VERSION_PATCH 0
/* The header's version as one number, to compare with heed_version(). */
#define HEED_VERSION (10000 * HEED_VERSION_MAJOR + 100 * HEED_VERSION_MINOR + HEED_VERSION_PATCH)

/* The library's version: 10000 * major + 100 * minor + patch. Never fails. */
HEED_API int32_t heed_version(void) HEED_NOEXCEPT;

/* The library's version as text, such as "0.1.0". Static: never freed. Never fails. */
HEED_API const char* heed_version_string(void) HEED_NOEXCEPT;

/* ---- 1.2 Status and errors --------------------------------------------------------------------------------------- */

/* Result of a call. Numbers are never reused; later versions may add some, so treat an unknown one as a failure. */
typedef enum heed_status HEED_INT32 {
  HEED_OK = 0,
  HEED_ERROR_INVALID_ARGUMENT = 1,    /* an argument is invalid, or inconsistent with another */
  HEED_ERROR_OUT_OF_MEMORY = 2,       /* host or device memory could not be allocated */
  HEED_ERROR_UNSUPPORTED = 3,         /* valid, but this library or device cannot do it */
  HEED_ERROR_NOT_INITIALIZED = 4,     /* the layer lacks parameters */
  HEED_ERROR_WORKSPACE_TOO_SMALL = 5, /* the sentence names both sizes */
  HEED_ERROR_BUSY = 6,                /* the workspace, the cache or the heed_saved is in use by another call */
  HEED_ERROR_IO = 7,                  /* a file could not be opened, read or written */
  HEED_ERROR_CORRUPT_FILE = 8,        /* a file is not what its format says */
  HEED_ERROR_NOT_FOUND = 9,           /* no tensor or parameter has that name */
  HEED_ERROR_CACHE_FULL = 10,         /* a cache has no room; the sentence says what was needed and what is free */
  HEED_ERROR_DEVICE_UNAVAILABLE = 11, /* driver, plugin or device is missing; the sentence says which */
  HEED_ERROR_DEVICE_LOST = 12,        /* the device failed; its context cannot be used any more */
  HEED_ERROR_NOT_FASTEST = 13,        /* the context is strict, and the call cannot take the fastest path */
  HEED_ERROR_INTERNAL = 14,           /* a bug in heed */
  HEED_ERROR_CANCELLED = 15           /* the report of a heed_progress stopped the call */
} heed_status;

/* The enumerator's name as text, such as "HEED_ERROR_IO"; "HEED_ERROR_UNKNOWN" for any other number. Static: never
 * freed. Never fails. */
HEED_API const char* heed_status_name(heed_status status) HEED_NOEXCEPT;

/* Status of the last call that failed on this thread; HEED_OK if none has failed. Calls that succeed do not change it.
 * Never fails. */
HEED_API heed_status heed_last_status(void) HEED_NOEXCEPT;

/* One sentence about the last call that failed on this thread: the argument, its value, the expected value. ASCII, at
 * most 511 bytes (other bytes in names are escaped); "" if none has failed. Owned by the thread; valid until its next
 * failing call. Never fails. */
HEED_API const char* heed_last_error(void) HEED_NOEXCEPT;

/* What a part of a sentence is: text, or a term, for which another language than C may have a name of its own, such as
 * numHeads for options->num_heads. Later versions may add roles: treat an unknown one as text. */
typedef enum heed_role HEED_INT32 {
  HEED_ROLE_TEXT = 0,     /* the same in every language; also text in quotes, such as the names of files */
  HEED_ROLE_OPTION = 1,   /* a member of options by its path, without "options->": "layers[0]->feed_forward->gated" */
  HEED_ROLE_SETTING = 2,  /* the same, and behind a space its value, which is 0, 1 or a constant: "no_bias 0" */
  HEED_ROLE_FLAG = 3,     /* the value of an option that is 0 or 1, behind the option's name, which C's sentence does not
                             repeat: "no_bias 0"; "no_bias set" where that says "set" */
  HEED_ROLE_INPUT = 4,    /* a member of inputs by its path, without "inputs->": "decoder->self_mask" */
  HEED_ROLE_OUTPUT = 5,   /* a member of outputs by its path, without "outputs->": "log_sum_exp" */
  HEED_ROLE_MEMBER = 6,   /* the name of a member of options or inputs alone: "rotary_size" */
  HEED_ROLE_ARGUMENT = 7, /* an argument of a function: "valid_lens" */
  HEED_ROLE_CONSTANT = 8, /* an enumerator: "HEED_CAUSAL_NONE" */
  HEED_ROLE_FUNCTION = 9, /* "heed_layer_load" */
  HEED_ROLE_KIND = 10,    /* a kind of layer, with an article before it and "layer" behind it if the sentence has them:
                             "an encoder_layer layer" */
  HEED_ROLE_DTYPE = 11,   /* the type of an element: "F32" */
  HEED_ROLE_WORD = 12     /* another word for something in C: "NULL", "tensor" */
} heed_role;

/* The text of a part of a message, and its role, for programs that say heed's sentences in the words of another language.
 * message: what heed_last_error returned, or the text that the write of a heed_logger got, during that call. The text has
 * *size bytes, and no zero behind them. C's sentence has the parts' texts in their order, with what the roles say. Of a
 * sentence with more than 24 terms, what follows them is text. Returns NULL behind the last part, for any other message or
 * index and if role or size is NULL; *role and *size are then unchanged. The text is valid as long as the message. Never
 * fails, and changes no last error. */
HEED_API const char* heed_message_part(const char* message, int32_t index, heed_role* role, size_t* size) HEED_NOEXCEPT;

/* ---- 1.3 Context ------------------------------------------------------------------------------------------------- */

/* A device, its memory and its options.
 *   made by   heed_context_create
 *   used by   the functions that make tensors, layers, weights, workspaces and caches, which then belong to it
 *   freed by  heed_context_destroy; objects of it that are still alive keep what they need of it
 *   threads   many at once */
typedef struct heed_context heed_context;

/* How a device is opened (6.2). */
typedef struct heed_context_options heed_context_options;

/* Opens a device. options NULL: the CPU with the defaults. The caller destroys *context.
 * Threads: without an executor a CPU context has num_threads - 1 threads of its own, named "heed-worker". They are
 * started by the first of these calls: creating a workspace or asking for its size; a call that computes without a
 * workspace; loading, setting, initializing, reading or saving a large parameter. They end with the last object of the context. If the
 * system refuses to start some, calls compute on the others. Between calls they sleep, some 30 microseconds after the
 * last call. Signals to the process go to the host's threads. They serve one call at a time: a call that comes while
 * they work for another one computes on its own thread, as small calls do. A child of fork has the context without its
 * threads, and starts new ones when a call first needs them, also with a workspace.
 * Instructions: a CPU context uses the widest instruction set that the processor has and the system supports. For tests
 * and comparisons the environment variable HEED_ISA, which is read here, selects another one: portable, avx2, avx512 or
 * avx512_bf16 on x86-64, portable or neon on AArch64.
 * Ascend: all contexts on a device in the process share it. Calls on it may return before they are done; they are done
 * in the order of the calls, whatever their context. The CPU computes what the device cannot, with copies, on threads
 * and with instructions as above; heed_layer_explain says where and why. In a child of fork such a context can only be
 * destroyed.
 * Errors: INVALID_ARGUMENT (unknown device, device_index or num_threads out of range, strict, allow_reduced_precision or
 * flush_subnormals not 0 or 1; a function of allocator, executor or logger that is NULL; num_threads of executor
 * not 1 to 1024; HEED_ISA names an instruction set that this processor lacks), DEVICE_UNAVAILABLE (with what to do),
 * OUT_OF_MEMORY (of host or device). */
HEED_API heed_status heed_context_create(const heed_context_options* options, heed_context** context) HEED_NOEXCEPT;

/* Drops the caller's reference. NULL is allowed. Objects of the context keep working. */
HEED_API void heed_context_destroy(heed_context* context) HEED_NOEXCEPT;

/* ---- 1.4 Tensor -------------------------------------------------------------------------------------------------- */

typedef enum heed_dtype HEED_INT32 {
  HEED_DTYPE_INVALID = -1, /* only as a result: heed_tensor_dtype of a bad handle, heed_weights_dtype */
  HEED_F32 = 0,            /* IEEE 754 binary32, C's float */
  HEED_F16 = 1,            /* IEEE 754 binary16 */
  HEED_BF16 = 2,           /* the upper half of a binary32 */
  HEED_F64 = 3,            /* IEEE 754 binary64, C's double; computes in 6.9 to 6.11 and where 6.8 says so; elsewhere it is stored and converted */
  HEED_I32 = 4,
  HEED_I64 = 5,
  HEED_I8 = 6,
  HEED_U8 = 7,
  HEED_BOOL = 8            /* one byte; any non-zero byte is true */
} heed_dtype;

/* A strided array of elements over storage that it shares with its views.
 *   made by   heed_tensor_create, _create_from and _wrap; views of another tensor (6.5), files (6.6), DLPack (6.7);
 *             heed_layer_create_outputs and _create_tap; heed_layer_parameter and _parameter_shape
 *   used by   the inputs and outputs of calls, heed_layer_set_parameter, heed_cache_read, operations (6.8)
 *   freed by  heed_tensor_destroy; its elements with the last tensor, view or call that uses them
 *   threads   many may read it at once; while one writes it, no other may use it */
typedef struct heed_tensor heed_tensor;

/* A new row-major tensor of zeros in the context's memory, aligned to 64 bytes. dims has rank sizes, each >= 0 (rank 0:
 * one element, dims may be NULL). The caller destroys *tensor.
 * Errors: INVALID_ARGUMENT (rank outside 0 to 8, a negative dim, a size that overflows, unknown dtype). */
HEED_API heed_status heed_tensor_create(heed_context* context, heed_dtype dtype, int32_t rank, const int64_t* dims,
                                        heed_tensor** tensor) HEED_NOEXCEPT;

/* A new row-major tensor in the context's memory, aligned to 64 bytes, with a copy of data: heed_tensor_create and
 * heed_tensor_write in one call. data is host memory with the elements in row-major order, of that dtype; it may be
 * NULL if there are no elements. The caller destroys *tensor.
 * Errors: as heed_tensor_create; INVALID_ARGUMENT (NULL data with elements to copy). */
HEED_API heed_status heed_tensor_create_from(heed_context* context, heed_dtype dtype, int32_t rank, const int64_t* dims,
                                             const void* data, heed_tensor** tensor) HEED_NOEXCEPT;

/* A tensor that uses the caller's memory (of the context's device), without a copy. data is the element at index (0, 0,
 * ...), aligned to its element's size. strides NULL: row-major; zero and negative strides are allowed for tensors that
 * are only read. release (may be NULL) is called once as release(user, data), on the thread that drops the last
 * reference, when no tensor, view or running call uses the memory any more; it must not fail, and until then the memory
 * must stay valid. If this function fails, release is not called. On Ascend the 32 bytes after the last element must be
 * readable, and release is called after waiting for the device. data NULL makes a shape-only tensor, for
 * heed_layer_initialize, _workspace_size, _explain and _create_outputs; release must then be NULL. A tensor with a zero
 * dim has no elements and needs no data. The caller destroys *tensor.
 * Errors: as heed_tensor_create, INVALID_ARGUMENT (misaligned data; extent of the strides overflows). */
HEED_API heed_status heed_tensor_wrap(heed_context* context, heed_dtype dtype, int32_t rank, const int64_t* dims,
                                      const int64_t* strides, void* data,
                                      void (*release)(void* user, void* data), void* user,
                                      heed_tensor** tensor) HEED_NOEXCEPT;

/* Drops the caller's reference. NULL is allowed. Views and running calls keep the storage alive. */
HEED_API void heed_tensor_destroy(heed_tensor* tensor) HEED_NOEXCEPT;

/* The element type; HEED_DTYPE_INVALID for NULL. */
HEED_API heed_dtype heed_tensor_dtype(const heed_tensor* tensor) HEED_NOEXCEPT;

/* The number of dimensions, 0 to 8; -1 for NULL. */
HEED_API int32_t heed_tensor_rank(const heed_tensor* tensor) HEED_NOEXCEPT;

/* The size of an axis in elements; a negative axis counts from the end. -1 for NULL or an axis out of range. */
HEED_API int64_t heed_tensor_dim(const heed_tensor* tensor, int32_t axis) HEED_NOEXCEPT;

/* The stride of an axis in elements. -1 for NULL or an axis out of range; since -1 is a valid stride too, check the
 * axis with heed_tensor_rank first. */
HEED_API int64_t heed_tensor_stride(const heed_tensor* tensor, int32_t axis) HEED_NOEXCEPT;

/* The product of the dims, 1 for rank 0; -1 for NULL. */
HEED_API int64_t heed_tensor_num_elements(const heed_tensor* tensor) HEED_NOEXCEPT;

/* num_elements times the bytes of an element: the num_bytes of heed_tensor_read and heed_tensor_write. 0 for NULL. */
HEED_API size_t heed_tensor_num_bytes(const heed_tensor* tensor) HEED_NOEXCEPT;

/* The address of the element at index (0, 0, ...) in the device's memory, which on Ascend the processor cannot access.
 * Other elements follow by dtype and strides. Valid as long as the tensor or a view of it. Before using the memory on a
 * device, wait with heed_context_synchronize. NULL for a shape-only tensor. NULL with INVALID_ARGUMENT as the last
 * error for NULL, and for a parameter's snapshot, which is read-only: use heed_tensor_read. */
HEED_API void* heed_tensor_data(heed_tensor* tensor) HEED_NOEXCEPT;

/* Copies host memory into the tensor. source has the elements in row-major (logical) order, of the tensor's dtype;
 * num_bytes must be heed_tensor_num_bytes.
 * Errors: INVALID_ARGUMENT (another num_bytes, naming both; NULL source with bytes to copy; read-only, shape-only, or
 * a dim above 1 with a zero or negative stride; strides with which two elements have the same address). */
HEED_API heed_status heed_tensor_write(heed_tensor* tensor, const void* source, size_t num_bytes) HEED_NOEXCEPT;

/* Copies the tensor to host memory in row-major (logical) order; waits for calls that write it. num_bytes as for
 * heed_tensor_write.
 * Errors: INVALID_ARGUMENT (another num_bytes, naming both; NULL destination with bytes to copy; shape-only). */
HEED_API heed_status heed_tensor_read(const heed_tensor* tensor, void* destination, size_t num_bytes) HEED_NOEXCEPT;

/* The elements as text for people (a text result, see above), as NumPy (2.3 and later) prints them with its default
 * options: the fewest digits that identify a number of the dtype, at most 8 after the point, points below each other; rows
 * are broken at 75 columns, and of more than 1000 elements each axis shows the first and the last 3. "[]" without elements.
 * Waits for calls that write the tensor.
 * Errors: INVALID_ARGUMENT (shape-only). */
HEED_API heed_status heed_tensor_to_text(const heed_tensor* tensor, char* text, size_t capacity,
                                         size_t* num_bytes) HEED_NOEXCEPT;

/* Sets every element to value, converted as heed_tensor_copy converts from F64.
 * Errors: INVALID_ARGUMENT (read-only, shape-only, strides that heed_tensor_write refuses). */
HEED_API heed_status heed_tensor_fill(heed_tensor* tensor, double value) HEED_NOEXCEPT;

/* ---- 1.5 Attention ----------------------------------------------------------------------------------------------- */

/* Causal masking, with its alignment named, since the two differ when Q != K [rule 6]. */
enum {
  HEED_CAUSAL_NONE = 0,
  HEED_CAUSAL_TOP_LEFT = 1,     /* key j is visible to query i iff j <= i */
  HEED_CAUSAL_BOTTOM_RIGHT = 2  /* iff j <= i + K - Q: the last query sees the last key */
};

/* Sliding window. With p = i (top-left) or i + K - Q (bottom-right), key j is visible to query i iff p - window_left
 * <= j <= p + window_right; a negative window_left or window_right is unlimited on that side [rule 6]. */
enum { HEED_WINDOW_NONE = 0, HEED_WINDOW_TOP_LEFT = 1, HEED_WINDOW_BOTTOM_RIGHT = 2 };

/* The result of a query without any visible key [rule 7]. */
enum {
  HEED_EMPTY_ROWS_ZERO = 0,     /* output and weights 0 */
  HEED_EMPTY_ROWS_MEAN = 1      /* the mean of all K values, weights 1/K: what d2l-java's masked softmax gives */
};

/* Scaled dot-product attention, softmax(scale * q k^T) v (Vaswani et al., "Attention Is All You Need", 2017, section
 * 3.2.1). It has no parameters. */
typedef struct heed_dot_product_attention_options {
  size_t struct_size;
  int64_t window_left;   /* keys before the query's position; negative: unlimited; above 0 only with a window */
  int64_t window_right;  /* keys after it, likewise */
  float scale;           /* factor on q . k; 0: 1/sqrt(D); any other finite number [rule 2] */
  float soft_cap;        /* a score s becomes soft_cap * tanh(s / soft_cap); 0: off; else finite, above 0 [rule 3] */
  float dropout;         /* probability, 0 <= dropout < 1, that a weight is dropped when training [rule 11] */
  int32_t causal;        /* HEED_CAUSAL_... */
  int32_t window;        /* HEED_WINDOW_... */
  int32_t empty_rows;    /* HEED_EMPTY_ROWS_... */
} heed_dot_product_attention_options;
#define HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT                                                          \
  { sizeof(heed_dot_product_attention_options), 0, 0, 0.0f, 0.0f, 0.0f, HEED_CAUSAL_NONE, HEED_WINDOW_NONE, \
    HEED_EMPTY_ROWS_ZERO }

/* What fewer calls have: where rows are (3.3), a cache (4.2), what decoders read besides (3.6), reports and stopping
 * (6.3), outputs of an attention in a layer (2.5). A member that points to one of these may be NULL. */
typedef struct heed_sequence_inputs heed_sequence_inputs;
typedef struct heed_cache_inputs heed_cache_inputs;
typedef struct heed_decoder_inputs heed_decoder_inputs;
typedef struct heed_progress heed_progress;
typedef struct heed_layer_tap heed_layer_tap;
typedef struct heed_saved heed_saved;

/* The inputs of a layer, which are neither changed nor kept.
 *
 *                multi-head, additive,    dot-product, rank 3     dot-product, rank 4
 *                general
 *   queries      (B, Q, Eq)               (B, Q, D)               (B, H, Q, D)
 *   keys         (B, K, Ek)               (B, K, D)               (B, Hkv, K, D), Hkv divides H [rule 12]
 *   values       (B, K, Ev)               (B, K, Dv)              (B, Hkv, K, Dv)
 *
 * Any strides are allowed: heads in the layout (B, S, H, D) are a transposed view.
 *
 * Linear layers, norms, feed-forward networks and dropout read only queries, of rank 1 to 8: (..., input size), for
 * dropout any dims. Embeddings read only queries, ids of any rank up to 7. Positional encodings read queries, (B, S, size)
 * or packed (total, size), and of sequences positions and query_offsets. Encoder layers and encoders read queries, (B, S,
 * E) or packed (total, E), and what their self-attention reads, but no keys, values and cache. Decoder layers and decoders
 * read queries, (B, T, E) or packed (total, E); of sequences what both attentions read; with cross attention keys, and
 * valid_lens, mask and bias of it; decoder; cache, of self-attention: layer n of a decoder uses the cache's layer
 * cache->layer + n. All other inputs must then be NULL. Encoders and decoders with an embedding read ids, (B, S) or packed
 * (total), as queries, encoders of images (B, C, H, W) and of audio (B, mels, frames). Transformers read the decoder's
 * rows or ids as queries and the encoder's as keys, with decoder->memory or memory_cache no keys; without queries they
 * run the encoder alone.
 *
 * queries, keys and values have one dtype of F32, F16 and BF16 [rule 13], the ids of embeddings I32 or I64. Any of B, Q, K
 * may be 0, and for layers that read only queries any dim [rule 14]. */
typedef struct heed_layer_inputs {
  size_t struct_size;
  const heed_tensor* queries;     /* required, but for a Transformer's encoder alone and heed_layer_fill_cache */
  const heed_tensor* keys;        /* NULL: the queries */
  const heed_tensor* values;      /* NULL: the keys */
  const heed_tensor* valid_lens;  /* NULL, or (B) or (B, Q) of F32, I32 or I64, for rank 4 too: key j is visible iff
                                     j < length; whole numbers, 0 <= length <= K [rule 4]. Encoders, decoders and
                                     Transformers take (B) alone: a tokenizer's mask goes to attention_mask */
  const heed_tensor* mask;        /* NULL, or BOOL of (B, H, Q, K) or (Q, K), where an axis of size 1 is repeated: any
                                     non-zero byte = may attend. One row of keys for each batch element is
                                     (B, 1, 1, K); rank 2 is (Q, K), also where B = Q [rule 5] */
  const heed_tensor* bias;        /* NULL, or F32 or the inputs' dtype, shaped as the mask: added to the scaled
                                     scores; -inf hides [rule 5] */
  uint64_t dropout_seed;          /* seed of the dropout; the same seed drops the same weights [rule 11], or elements */
  int32_t training;               /* 1: dropout is active */
  int32_t reserved;               /* 0 */
  const heed_tensor* alibi_slopes; /* NULL, or F32 of (H), (1) without heads: adds -slope * |p - j| to the scaled scores,
                                      with p the position of the query, K - Q + i if sequences has no positions, and
                                      key j [rule 5]; see heed_tensor_fill_alibi_slopes */
  const heed_sequence_inputs* sequences; /* NULL, or where rows are: positions, packed batches, lengths of queries */
  const heed_tensor* sinks;       /* NULL, or F32 of (H), (1) without heads: for each head one more score in the softmax,
                                     without a value [rule 3]; in rows without a visible key it is log_sum_exp alone,
                                     NaN too [rule 7] */
  const heed_cache_inputs* cache; /* NULL, or a cache that holds the keys and values. Then K is the number of rows of the
                                     longest sequence of the batch after the call, mask and bias may also have Q in place
                                     of K, above 1 and below K, and then concern the last Q rows alone, those of this
                                     call; valid_lens, key_offsets and training are refused */
  const heed_decoder_inputs* decoder; /* NULL, or what decoder layers and decoders read besides; NULL for other layers */
  const heed_tensor* token_types; /* NULL: all are 0; or I32 or I64 with the dims of the ids: which segment of the text each
                                     belongs to, from 0 to num_token_types - 1 (Devlin et al., "BERT", arXiv 1810.04805).
                                     NULL for layers without token types */
  const heed_progress* progress;  /* NULL, or reports of heed_layer_forward, heed_layer_fill_cache and
                                     heed_scaled_dot_product_attention in tasks, and of heed_layer_initialize in bytes of
                                     the parameters. The functions that compute nothing make no report */
  const heed_tensor* attention_mask; /* NULL, or (B, S) of any dtype: 1, or 0 for a row that is hidden, as tokenizers give it,
                                        on the left, on the right or anywhere [rule 4]. In self-attention, encoders and
                                        decoders without cross attention the rows are those of queries: hidden ones are no
                                        keys, they are not read, ids neither, their output is 0, and positions count the
                                        visible rows before. Otherwise they are those of keys: of a decoder's memory, and of
                                        a Transformer's encoder. With a cache hidden rows are not appended. Not with lengths
                                        of the same rows, and not in a packed batch */
  int64_t num_last_rows;          /* 0: all rows. n, of encoders, decoders and Transformers: the output has the last n visible
                                     rows of each batch element alone, (B, n, ...), for packed batches too, so that the
                                     final norm and the projection compute no others. Each has n rows at least, or none:
                                     then its output is 0. Caches, weights and taps have all rows */
  const heed_tensor* output_rows; /* NULL: all rows. Or (B, n) of I32 or I64: likewise the rows with these numbers, counted in
                                     each batch element from 0, visible ones, in any order. Not with num_last_rows */
} heed_layer_inputs;
#define HEED_LAYER_INPUTS_INIT                                                                                         \
  { sizeof(heed_layer_inputs), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, 0, NULL }

/* The outputs of a layer. NULL: not requested; at least one must be given. Requesting more outputs never changes the
 * others [rule 9]. Any positive strides are allowed (any at all for dims of 1), but no element may share memory with
 * another element, of the same output, another output or an input.
 *
 *                multi-head           additive,   dot-product, rank 3   dot-product, rank 4   dtype
 *                                     general
 *   output       (B, Q, output size)  (B, Q, Ev)  (B, Q, Dv)            (B, H, Q, Dv)         the inputs', or F32
 *   weights      (B, H, Q, K)         (B, Q, K)   (B, Q, K)             (B, H, Q, K)          the inputs', or F32
 *   log_sum_exp  (B, H, Q)            (B, Q)      (B, Q)                (B, H, Q)             F32
 *
 * The output of a linear layer and of a feed-forward network is (..., output_size), that of an embedding (...,
 * embedding_size) in the parameter's dtype or F32, that of a patch or audio embedding (B, N,
 * size); those of the other layers without heads, of encoders and of decoders
 * have the dims of queries; the dtypes are as above. weights and log_sum_exp must be NULL for all these.
 *
 * taps are weights and log_sum_exps of attentions in a layer that is made of others, by their dotted names.
 *
 * weights are the attention weights before dropout [rule 11], with one more column for add_bias_kv and for add_zero_attn,
 * after those of keys. log_sum_exp is a natural logarithm; for a row without a visible key -inf, or its sink [rules 3,
 * 7]. */
typedef struct heed_layer_outputs {
  size_t struct_size;
  heed_tensor* output;
  heed_tensor* weights;
  heed_tensor* log_sum_exp;
  const heed_layer_tap* const* taps; /* NULL, or num_taps of them */
  int64_t num_taps;
  heed_saved* saved; /* NULL, or gets what heed_layer_backward of the same inputs reads, so that it computes less; the output
                        must be given, and no taps. The output keeps its bits */
} heed_layer_outputs;
#define HEED_LAYER_OUTPUTS_INIT { sizeof(heed_layer_outputs), NULL, NULL, NULL, NULL, 0, NULL }

/* Scaled dot-product attention in one call: heed_dot_product_attention_create, heed_layer_forward without a workspace
 * and heed_layer_destroy, with the same bits in the results. options NULL: the macro's values. inputs and outputs are
 * those of dot-product attention in the table above. Scratch memory comes from the context's pool, which may allocate
 * when it grows. May be called from many threads on one context, and tensors may be of other contexts of the same
 * device.
 * Errors: those of heed_dot_product_attention_create and heed_layer_forward. */
HEED_API heed_status heed_scaled_dot_product_attention(heed_context* context,
                                                       const heed_dot_product_attention_options* options,
                                                       const heed_layer_inputs* inputs,
                                                       const heed_layer_outputs* outputs) HEED_NOEXCEPT;

/* ==== 2. Layers =================================================================================================== */

/* ---- 2.1 Multi-head attention ------------------------------------------------------------------------------------ */

/* Attention, another part of a network, or a Transformer's encoder or decoder, with its options and parameters.
 *   made by   heed_<kind>_create (2.1, part 3), heed_model_create and heed_layer_create_from_folder (5.1);
 *             heed_layer_child, as a part of another layer (2.5)
 *   used by   heed_layer_load, _initialize or _set_parameter, which give it its parameters (2.2); then heed_layer_forward
 *   freed by  heed_layer_destroy
 *   threads   many at once, but while one changes its parameters, no other may use it */
typedef struct heed_layer heed_layer;

/* Which projections of multi-head attention add a bias, a set of bits. */
enum { HEED_BIAS_NONE = 0, HEED_BIAS_Q = 1, HEED_BIAS_K = 2, HEED_BIAS_V = 4, HEED_BIAS_O = 8, HEED_BIAS_ALL = 15 };

/* Rotary positions (3.2). */
typedef struct heed_rope_options heed_rope_options;

/* Multi-head attention (Vaswani et al., section 3.2.2; with num_kv_heads < num_heads grouped-query attention, Ainslie
 * et al., 2023). Parameters, all (out, in) as in d2l, DJL and PyTorch:
 *   W_q.weight (num_heads * head_size, Eq)                 W_q.bias (num_heads * head_size)           with HEED_BIAS_Q
 *   W_k.weight (num_kv_heads * head_size, Ek)              W_k.bias (num_kv_heads * head_size)        with HEED_BIAS_K
 *   W_v.weight (num_kv_heads * value_head_size, Ev)        W_v.bias (num_kv_heads * value_head_size)  with HEED_BIAS_V
 *   W_o.weight (output_size, num_heads * value_head_size)  W_o.bias (output_size)                     with HEED_BIAS_O
 *   w_v.weight (num_heads, head_size)                      with HEED_SCORING_ADDITIVE
 *   q_norm.weight, k_norm.weight                           with qk_norm_epsilon: (head_size) with HEED_QK_NORM_RMS;
 *                                                          (num_heads, head_size), (num_kv_heads, head_size) with
 *                                                          HEED_QK_NORM_LAYER
 *   sinks (num_heads)                                      with sinks
 *   relative_bias.weight (relative_bias_buckets, num_heads)  with relative_bias
 *   bias_k (num_kv_heads * head_size)                      with add_bias_kv
 *   bias_v (num_kv_heads * value_head_size)                with add_bias_kv
 * Head h owns rows h * head_size to (h + 1) * head_size - 1 of W_q, and so on. With HEED_SCORING_ADDITIVE the score of
 * a query q of head h and a key k of its key head is w_v[h] . tanh(q + k), times scale. */
typedef struct heed_multi_head_attention_options {
  size_t struct_size;
  int64_t num_hiddens;          /* E; may be 0 only if head_size and (output_size or no_output_projection) are given */
  int64_t num_heads;            /* required, >= 1 */
  int64_t num_kv_heads;         /* heads of keys and values, a divisor of num_heads; 0: num_heads. Query head h uses
                                   key head h / (num_heads / num_kv_heads) [rule 12] */
  int64_t head_size;            /* D of queries and keys; 0: num_hiddens / num_heads, which must be whole */
  int64_t value_head_size;      /* D of values; 0: head_size */
  int64_t output_size;          /* last dim of the output; 0: num_hiddens */
  int64_t window_left;          /* as in heed_dot_product_attention_options */
  int64_t window_right;
  float scale;                  /* 0: 1/sqrt(head_size), with either scoring; HEED_SCORING_ADDITIVE usually needs 1 */
  float soft_cap;
  float dropout;
  int32_t biases;               /* HEED_BIAS_... bits; 0: none */
  int32_t no_output_projection; /* 1: no W_o, the output is (B, Q, num_heads * value_head_size); excludes output_size
                                   and HEED_BIAS_O */
  int32_t scoring;              /* HEED_SCORING_... */
  int32_t causal;
  int32_t window;
  int32_t empty_rows;
  int32_t reserved;             /* 0 */
  const heed_rope_options* rope; /* rotary positions; NULL: none */
  int64_t relative_bias_buckets;  /* 0: 32; with HEED_RELATIVE_BIAS_ONE_WAY at least 2, with HEED_RELATIVE_BIAS_BOTH_WAYS
                                     even and at least 4; at most 2^20 */
  int64_t relative_bias_max_distance; /* from here on all distances share a bucket; above half of a direction's buckets,
                                         rounded down, which are for one distance each; at most 2^20; 0: 128 */
  float qk_norm_epsilon;        /* above 0: each head of queries and keys is normalized, before rotary positions */
  int32_t qk_norm;              /* HEED_QK_NORM_...; 0 without qk_norm_epsilon */
  int32_t sinks;                /* 1: each head has a score that takes part in the softmax without a value [rule 3];
                                   inputs->sinks must then be NULL */
  int32_t relative_bias;        /* HEED_RELATIVE_BIAS_... */
  int32_t alibi;                /* HEED_ALIBI_...; inputs->alibi_slopes must then be NULL */
  int32_t add_bias_kv;          /* 1: every query sees one more key, bias_k, with the value bias_v, whatever hides the others,
                                   as PyTorch's add_bias_kv; weights have a column more. Not with HEED_SCORING_ADDITIVE */
  int32_t add_zero_attn;        /* 1: every query sees one more key that is 0, with the value 0, as PyTorch's
                                   add_zero_attn; weights have a column more. Not with HEED_SCORING_ADDITIVE */
  int32_t reserved_2;           /* 0 */
} heed_multi_head_attention_options;
#define HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT                                                              \
  { sizeof(heed_multi_head_attention_options), 0, 0, 0, 0, 0, 0, 0, 0, 0.0f, 0.0f, 0.0f, HEED_BIAS_NONE, 0, \
    HEED_SCORING_DOT_PRODUCT, HEED_CAUSAL_NONE, HEED_WINDOW_NONE, HEED_EMPTY_ROWS_ZERO, 0, NULL, 0, 0, 0.0f,    \
    HEED_QK_NORM_RMS, 0, HEED_RELATIVE_BIAS_NONE, HEED_ALIBI_NONE, 0, 0, 0 }

/* Makes a multi-head attention layer. Its input sizes are learned when it gets its parameters. The caller destroys
 * *layer.
 * Errors: those of dot-product attention; INVALID_ARGUMENT (num_heads missing; num_hiddens not divisible by num_heads
 * and no head_size; num_heads not divisible by num_kv_heads; a negative or overflowing size; no_output_projection with
 * output_size or HEED_BIAS_O; members of rope that are missing, out of range or not used by its scaling; norms, buckets
 * or distances out of range, or without the option that uses them; add_bias_kv or add_zero_attn with additive scores). */
HEED_API heed_status heed_multi_head_attention_create(heed_context* context,
                                                      const heed_multi_head_attention_options* options,
                                                      heed_layer** layer) HEED_NOEXCEPT;

/* Drops the caller's reference. NULL is allowed. */
HEED_API void heed_layer_destroy(heed_layer* layer) HEED_NOEXCEPT;

/* What the layer is: the name of the function that makes such a layer, without "heed_" and "_create", as "linear",
 * "encoder_layer" and "transformer". Valid while the library is loaded. NULL for NULL. */
HEED_API const char* heed_layer_kind(const heed_layer* layer) HEED_NOEXCEPT;

/* The layer's options as a JSON object (a text result, see above): the members of the struct that heed_layer_kind
 * makes it from, by their names, with the sizes that the layer has derived where they were 0; enumerators and bits in
 * words; the options of its parts as objects. Members may be added. Files that heed_layer_save writes have the same object
 * as "heed.options".
 * Errors: INVALID_ARGUMENT (text and num_bytes NULL; capacity 0). */
HEED_API heed_status heed_layer_options(const heed_layer* layer, char* text, size_t capacity,
                                        size_t* num_bytes) HEED_NOEXCEPT;

/* ---- 2.2 Parameters ---------------------------------------------------------------------------------------------- */

/* Makes all parameters for inputs of these shapes (only shapes and dtypes are read, so shape-only tensors are
 * sufficient). Parameters take the queries' dtype. Weights are drawn from a normal distribution with variance 2 / (the
 * weight's second dim), DJL's default initializer (Glorot and Bengio, 2010). Biases, bias_k, bias_v, sinks and the table
 * of a relative bias are 0, weights of norms 1. The same seed gives the same numbers on every machine
 * (docs/semantics.md, "Random numbers"). On an initialized layer all parameters are replaced.
 * Errors: INVALID_ARGUMENT (shapes and dtypes as heed_layer_forward), CANCELLED (by inputs->progress). */
HEED_API heed_status heed_layer_initialize(heed_layer* layer, const heed_layer_inputs* inputs,
                                           uint64_t seed) HEED_NOEXCEPT;

/* 1 if every parameter is set, else 0; -1 for NULL. */
HEED_API int32_t heed_layer_is_initialized(const heed_layer* layer) HEED_NOEXCEPT;

/* Sets all parameters from a .safetensors file, which may be a whole model's, or from a model in several files as
 * heed_tensor_load_safetensors takes it: it opens only the files that contain a parameter or a tensor "bias" in the
 * parameters' module; in GPT-2 that tensor is a causal mask. Parameters are recognized by their names after the prefix
 * (with or without the separator at its end; NULL or "": no prefix), which may be
 *   heed's own                     "<prefix>.W_q.weight", as heed_layer_save writes them, the same as in d2l-pytorch
 *   PyTorch's                      nn.MultiheadAttention: in_proj_weight, or q_proj_weight and so on
 *   Hugging Face's                 BERT, ViT, ALBERT, DistilBERT, BART, OPT, Whisper, CLIP, T5, GPT-2, GPT-J, GPT-NeoX,
 *                                  Falcon, Bloom, MPT, Llama, Mistral, Qwen, Gemma, Phi-3, Cohere, Granite, gpt-oss,
 *                                  ModernBERT, and the tables of positions of these
 *   timm's, Keras', DJL's, d2l-java's
 *   a linear layer's               PyTorch's nn.Linear, Keras' Dense, DJL's Linear
 * and are converted from that framework's shapes into heed's. docs/weights.md has all names, the options that belong to
 * each, and how to write such files. The config.json beside the file, if there is one with a model_type, or else the
 * names tell what else the model computes. It is an error if the layer's options differ from the model's settings
 * (heads, causal, scale, soft cap, window, every member of rope, qk_norm, sinks, relative_bias, alibi, first_row), and if
 * the model has a feature that heed lacks (rotary frequencies that change with the length, clipped projections).
 * Settings that the files do not contain, as the base of rotary positions, give a HEED_LOG_WARNING; the layer
 * then computes by its options. Dtypes and shapes as for heed_layer_set_parameter. Either all parameters are set or, on
 * failure, none. Tensors elsewhere in the file are ignored. A parameter of the same layout that the options lack (a
 * bias) is an error, and so is any other tensor in the attention's module that is not known to be harmless.
 * heed_layer_load_weights can accept what is refused here.
 * Errors: IO, CORRUPT_FILE as heed_tensor_load_safetensors; NOT_FOUND (no layout has all parameters, naming a missing
 * one and where else in the file they may be); INVALID_ARGUMENT (two layouts are complete; a parameter that the options
 * lack, naming the option; options that differ from the model's settings, naming all; shape, naming both; packed
 * projections for grouped heads; not a float dtype), UNSUPPORTED (a dtype that heed lacks; features of the model that
 * heed lacks, naming all of them and how to accept them; projections packed in an unknown layout; adapters; a linear
 * layer's weight with a name of Conv1D's); CORRUPT_FILE and IO for a config.json that cannot be read. */
HEED_API heed_status heed_layer_load(heed_layer* layer, const char* path, const char* prefix) HEED_NOEXCEPT;

/* heed_layer_load from the num_bytes at data, which are the contents of such a file. data is only needed during the
 * call. Error sentences call the file "memory".
 * Errors: as heed_layer_load, without IO. */
HEED_API heed_status heed_layer_load_memory(heed_layer* layer, const void* data, size_t num_bytes,
                                            const char* prefix) HEED_NOEXCEPT;

/* Writes all parameters to a .safetensors file, with their names. Its __metadata__ has the texts "heed.kind", such as
 * "multi_head_attention", and "heed.options", a JSON object with the members of the layer's options (docs/weights.md);
 * loading reads neither. The file is replaced atomically; on failure it is unchanged. Takes as much memory as the
 * largest weight of a projection meanwhile.
 * Errors: NOT_INITIALIZED, IO. */
HEED_API heed_status heed_layer_save(const heed_layer* layer, const char* path) HEED_NOEXCEPT;

/* Writes the bytes that heed_layer_save would write to a file to destination, which has capacity bytes. *num_bytes gets
 * their number (num_bytes may be NULL if destination is not). With destination NULL nothing else is done; the number
 * stays the same until a parameter is replaced.
 * Errors: NOT_INITIALIZED; INVALID_ARGUMENT (capacity too small, naming both sizes: nothing is written then, and
 * *num_bytes stays as it was). A failure of the host's executor or of the device may leave a part written. */
HEED_API heed_status heed_layer_save_memory(const heed_layer* layer, void* destination, size_t capacity,
                                            size_t* num_bytes) HEED_NOEXCEPT;

/* How many parameters the layer has, set or not; -1 for NULL. */
HEED_API int64_t heed_layer_parameter_count(const heed_layer* layer) HEED_NOEXCEPT;

/* The name of a parameter, such as "W_q.weight", in a fixed order; valid while the layer lives. NULL for a bad handle or
 * index. */
HEED_API const char* heed_layer_parameter_name(const heed_layer* layer, int64_t index) HEED_NOEXCEPT;

/* A read-only snapshot of a parameter: it keeps its values when the layer's parameter is replaced. Writing it, filling
 * it, copying into it or using it as an output fails with INVALID_ARGUMENT, also for its views; heed_tensor_data
 * returns NULL. On the CPU the snapshot of a projection's weight has memory of its own, which is unpacked with the
 * context's threads (heed_layer_set_parameter); other snapshots share the layer's memory. The caller destroys *snapshot.
 * Errors: NOT_FOUND (naming the existing ones), NOT_INITIALIZED (not set yet). */
HEED_API heed_status heed_layer_parameter(const heed_layer* layer, const char* name,
                                          heed_tensor** snapshot) HEED_NOEXCEPT;

/* The dtype and the shape of a parameter, as a shape-only tensor: its values are not unpacked. The caller destroys *shape.
 * Errors: as heed_layer_parameter. */
HEED_API heed_status heed_layer_parameter_shape(const heed_layer* layer, const char* name,
                                                heed_tensor** shape) HEED_NOEXCEPT;

/* Replaces a parameter by a converted copy of value. On an initialized layer the parameter keeps its dtype and shape.
 * Before, it takes the value's dtype (F64 becomes F32) and, where the options leave it open, its input size; the layer
 * is initialized once every parameter is set. A projection's weight is kept packed, in the layout that calls read fastest,
 * and snapshots and files get back the bits that were set. So on the CPU a layer takes the memory of its weights, with
 * the outputs of each projection rounded up to whole vectors, and after the first backward that multiplies by it the same
 * once more for the transposed weight (7.4). An NPU keeps the unchanged weight besides. While weights
 * are set or loaded a layer takes in addition only the memory of what is replaced and two pieces of a weight for each
 * thread of the context, which all take part; for convolutions, and for a tied table with a padding_index, the weight
 * itself.
 * Errors: NOT_FOUND (name), INVALID_ARGUMENT (another shape, naming both; not a float dtype; shape-only). */
HEED_API heed_status heed_layer_set_parameter(heed_layer* layer, const char* name,
                                              const heed_tensor* value) HEED_NOEXCEPT;

/* ---- 2.3 Workspace ----------------------------------------------------------------------------------------------- */

/* Scratch memory for one forward at a time.
 *   made by   heed_workspace_create and heed_workspace_wrap, with the size that heed_layer_workspace_size says
 *   used by   heed_layer_forward and heed_layer_fill_cache, of any layer of the device for which it is large enough
 *   freed by  heed_workspace_destroy; its memory when no call uses it any more
 *   threads   one call at a time; a second one fails with HEED_ERROR_BUSY */
typedef struct heed_workspace heed_workspace;

/* A workspace of num_bytes, which may be 0, in the context's memory; its contents are undefined.
 * heed_layer_workspace_size says how many bytes a forward needs. The caller destroys *workspace. */
HEED_API heed_status heed_workspace_create(heed_context* context, size_t num_bytes,
                                           heed_workspace** workspace) HEED_NOEXCEPT;

/* A workspace in the caller's memory (of the context's device, any alignment), which must outlive the workspace and any
 * call that uses it; heed never frees it. A call with tensors that share memory with it is refused. The caller destroys
 * *workspace.
 * Errors: INVALID_ARGUMENT (memory NULL with num_bytes above 0). */
HEED_API heed_status heed_workspace_wrap(heed_context* context, void* memory, size_t num_bytes,
                                         heed_workspace** workspace) HEED_NOEXCEPT;

/* The size it was made with; 0 for NULL. */
HEED_API size_t heed_workspace_num_bytes(const heed_workspace* workspace) HEED_NOEXCEPT;

/* Drops the caller's reference. NULL is allowed. A call in flight keeps the memory of heed_workspace_create alive. */
HEED_API void heed_workspace_destroy(heed_workspace* workspace) HEED_NOEXCEPT;

/* ---- 2.4 Calls --------------------------------------------------------------------------------------------------- */

/* Which outputs heed_layer_create_outputs makes, a set of bits. */
enum { HEED_WANT_OUTPUT = 1, HEED_WANT_WEIGHTS = 2, HEED_WANT_LOG_SUM_EXP = 4 };

/* Makes row-major output tensors of the right shapes for these inputs (only shapes and dtypes are read): output and
 * weights in the inputs' dtype, log_sum_exp in F32. wanted: HEED_WANT_... bits, at least one. The members of *outputs
 * must be NULL; those that are not requested stay NULL. The caller destroys the tensors. On failure none is made. Works
 * on a layer that is not initialized.
 * Errors: INVALID_ARGUMENT (wanted, also where the layer has no such output; a member not NULL; inputs as
 * heed_layer_forward), UNSUPPORTED (weights of a packed batch), BUSY (another call changes a cache of the inputs). */
HEED_API heed_status heed_layer_create_outputs(const heed_layer* layer, const heed_layer_inputs* inputs, int32_t wanted,
                                               heed_layer_outputs* outputs) HEED_NOEXCEPT;

/* The number of bytes of workspace that forward needs (only shapes and dtypes are read). outputs NULL: only the output
 * is requested. The size is sufficient for any alignment, and for every call of this layer with the same dtypes, the
 * same inputs and outputs given, and the same or smaller B, Q and K: so a workspace for the largest shape serves all.
 * For a packed batch it suffices for all offsets with the same or smaller totals and number of elements; with given
 * offsets forward may need less. For dropout the size does not depend on the shape. That of a linear layer grows with the
 * rows, until each thread has room for as many of them as it computes at a time, and then no more.
 * Errors: NOT_INITIALIZED, INVALID_ARGUMENT as heed_layer_forward; BUSY (another call changes a cache of the inputs). */
HEED_API heed_status heed_layer_workspace_size(const heed_layer* layer, const heed_layer_inputs* inputs,
                                               const heed_layer_outputs* outputs, size_t* num_bytes) HEED_NOEXCEPT;

/* Runs the layer: reads inputs, writes the outputs that are not NULL. With a workspace nothing is allocated (on the
 * CPU); with NULL it takes one from the context's pool, which has one for each call in flight and may allocate when it
 * grows. Without a workspace, the CPU needs less than heed_layer_workspace_size says if lengths or a window hide keys
 * from all queries. On a device the call may return before it is done: heed_tensor_read and heed_context_synchronize
 * wait. May be called from many threads on one layer. Tensors may be of other contexts of the same device.
 * Errors: NOT_INITIALIZED; INVALID_ARGUMENT (ranks, sizes that differ, naming both; dtypes; lengths outside 0 to K or
 * not whole; sizes other than the layer's parameters; shape-only tensors; inputs or outputs that a layer of this kind
 * does not have; outputs that are read-only, overlap, or have a zero or negative stride; no output at all; a product of
 * sizes that overflows; a workspace that shares memory with a tensor), WORKSPACE_TOO_SMALL (naming both), BUSY,
 * UNSUPPORTED (weights of a packed batch; dropout of weights with a dim above 2^32; rotary positions of more than 2^32
 * rows; F32 on a 16-bit device without allow_reduced_precision),
 * NOT_FASTEST (strict contexts), CANCELLED (by inputs->progress), OUT_OF_MEMORY and, on a device, DEVICE_LOST. With a
 * cache also INVALID_ARGUMENT (a cache of another device, geometry, or whose rows have other rotary positions; layer
 * or sequences outside the cache; a sequence twice), CACHE_FULL (needed and free pages, or rows of a sequence), BUSY,
 * UNSUPPORTED (a layer without such attention;
 * training). */
HEED_API heed_status heed_layer_forward(const heed_layer* layer, const heed_layer_inputs* inputs,
                                        heed_workspace* workspace, const heed_layer_outputs* outputs) HEED_NOEXCEPT;

/* A description of what forward would do with these arguments, as a JSON object (a text result, see above). Nothing is
 * run; only shapes, dtypes and lengths are read; lengths without data count as K [rule 4]. outputs NULL: only the
 * output is requested. Numbers are whole and fit in an int64_t; larger ones become 2^63 - 1. Members (more may be
 * added):
 *   "layer", "backend", "device"  such as "multi_head_attention", "cpu", "cpu:0"; the other layers are
 *                                 "additive_attention", "general_attention", "dot_product_attention",
 *                                 "positional_encoding", "linear", "dropout", "layer_norm", "feed_forward",
 *                                 "embedding", "patch_embedding", "audio_embedding", "encoder_layer", "decoder_layer", "encoder" and "decoder"
 *   "kernel", "isa"               of the attention (in layers without attention, of their only operation): the kernel,
 *                                 and the instruction set that it uses, such as "portable"
 *   "block_queries", "block_keys" how many queries and keys that kernel processes at a time; for a linear operation
 *                                 "tile_rows" and "tile_columns" of its output; omitted where there are none
 *   "items", "threads"            the number of tasks of that operation, and the largest number of threads that run
 *                                 them, including the caller's
 *   "flush_subnormals"            true; only in a context with that option
 *   "workspace_bytes"             as heed_layer_workspace_size
 *   "flops"                       multiplications and additions, and each tanh of additive scores as one operation, for
 *                                 the pairs that lengths, causal mask and window leave visible; of the keys and values
 *                                 of a batch element, the rows from the first to the last visible one are projected
 *   "bytes"                       the minimum memory traffic: every operand once; of projections the rows that are
 *                                 computed
 *   "operations"                  in order, each with "operation", such as "project queries, keys and values" (inputs
 *                                 that are the same tensor are projected together, which changes no result), the
 *                                 members from "kernel" to "threads", "scratch_bytes" (its part of the workspace),
 *                                 "flops", "bytes" and "not_fastest"
 *   "not_fastest"                 the reasons why this is not the fastest path, as sentences; empty if it is. A strict
 *                                 context refuses forward for these reasons
 * Errors: as heed_layer_workspace_size; INVALID_ARGUMENT (lengths outside 0 to K or not whole). */
HEED_API heed_status heed_layer_explain(const heed_layer* layer, const heed_layer_inputs* inputs,
                                        const heed_layer_outputs* outputs, char* text, size_t capacity,
                                        size_t* num_bytes) HEED_NOEXCEPT;

/* ---- 2.5 Children ------------------------------------------------------------------------------------------------ */

/* How many children the layer has; 0 for a layer that is not made of others; -1 for NULL. */
HEED_API int64_t heed_layer_child_count(const heed_layer* layer) HEED_NOEXCEPT;

/* The name of a child, such as "self_attention" or "layers.0", in the order of parameters; index is from 0 to
 * heed_layer_child_count - 1. Valid while the layer lives. NULL for a bad handle or index. */
HEED_API const char* heed_layer_child_name(const heed_layer* layer, int64_t index) HEED_NOEXCEPT;

/* A child, or a child of a child by its dotted name, such as "layers.0.self_attention", as a layer of its own. It shares
 * its parameters with the layer: what one of them sets, initializes or loads, the other has too. The caller destroys
 * *child, before or after the layer.
 * Errors: NOT_FOUND (naming the children). */
HEED_API heed_status heed_layer_child(const heed_layer* layer, const char* name, heed_layer** child) HEED_NOEXCEPT;

/* Further outputs of a call: the weights and log_sum_exp of an attention in the layer, with the dims and dtypes that they have
 * as outputs of that child. At least one of both is not NULL. heed_layer_create_tap makes them. */
struct heed_layer_tap {
  size_t struct_size;
  const char* child;        /* required: the dotted name of the attention, such as "layers.0.self_attention" */
  heed_tensor* weights;     /* (B, H, Q, K), or NULL */
  heed_tensor* log_sum_exp; /* (B, H, Q) of F32, or NULL */
};
#define HEED_LAYER_TAP_INIT { sizeof(heed_layer_tap), NULL, NULL, NULL }

/* Makes row-major tensors for a tap of the attention `child` in calls with these inputs, and sets tap->child: weights in F32
 * with HEED_WANT_WEIGHTS, log_sum_exp in F32 with HEED_WANT_LOG_SUM_EXP, at least one of them. The members of *tap must be
 * NULL. `child` must live as long as the tap. The caller destroys the tensors. On failure none is made.
 * Errors: INVALID_ARGUMENT (wanted; a member not NULL; a child that is no attention, or that such a call does not run; inputs
 * as heed_layer_forward), NOT_FOUND (child), UNSUPPORTED (weights of a packed batch), BUSY (another call changes a cache
 * of the inputs). */
HEED_API heed_status heed_layer_create_tap(const heed_layer* layer, const heed_layer_inputs* inputs, const char* child,
                                           int32_t wanted, heed_layer_tap* tap) HEED_NOEXCEPT;

/* ==== 3. Options by topic, and the other kinds of layers ========================================================== */

/* ---- 3.1 Scores -------------------------------------------------------------------------------------------------- */

/* How a query and a key are scored [rule 2]. */
enum {
  HEED_SCORING_DOT_PRODUCT = 0, /* (q . k) * scale */
  HEED_SCORING_ADDITIVE = 1     /* (w_v . tanh(q + k)) * scale. In multi-head attention scale defaults to
                                   1/sqrt(head_size) with this scoring too; scale = 1 gives the plain formula */
};

/* Norms of queries and keys, head by head. */
enum {
  HEED_QK_NORM_RMS = 0,         /* one weight for all heads: Qwen 3, Gemma 3 */
  HEED_QK_NORM_LAYER = 1        /* a layer norm without bias, with a weight for each head: Cohere */
};

/* Bias of a score by the distance from query to key, in buckets, as T5's [rule 5]. */
enum {
  HEED_RELATIVE_BIAS_NONE = 0,
  HEED_RELATIVE_BIAS_BOTH_WAYS = 1, /* half of the buckets are for keys after the query: encoders */
  HEED_RELATIVE_BIAS_ONE_WAY = 2    /* keys after the query share the bucket of distance 0: decoders */
};

/* Attention with linear biases as a part of a layer, with the slopes of heed_tensor_fill_alibi_slopes [rule 5]. */
enum {
  HEED_ALIBI_NONE = 0,
  HEED_ALIBI_ADDED = 1,         /* added to the scaled scores: Bloom, MPT, the paper */
  HEED_ALIBI_SCALED = 2         /* the same times the scale, with slopes rounded to BF16: Falcon */
};

/* ---- 3.2 Positions ----------------------------------------------------------------------------------------------- */

/* Which elements of a head one rotation turns [rule 16]. The wrong pairing gives wrong numbers that look right, so there
 * is no default: 0 is refused. */
enum {
  HEED_ROPE_HALF = 1,           /* (i, i + rotary_size / 2): Llama, Qwen, Gemma, ... in Hugging Face's files */
  HEED_ROPE_INTERLEAVED = 2     /* (2i, 2i + 1): the paper's; GPT-J, Cohere, Meta's own files of Llama */
};

/* How rotary positions are stretched for texts that are longer than those of the training [rule 16]. */
enum {
  HEED_ROPE_SCALING_NONE = 0,
  HEED_ROPE_SCALING_LINEAR = 1, /* positions are divided by factor (Chen et al., arXiv 2306.15595) */
  HEED_ROPE_SCALING_NTK = 2,    /* the base is multiplied by factor^(r / (r - 2)), with r = rotary_size */
  HEED_ROPE_SCALING_YARN = 3,   /* Peng et al., "YaRN", arXiv 2309.00071 */
  HEED_ROPE_SCALING_LLAMA3 = 4, /* as Llama 3.1 */
  HEED_ROPE_SCALING_FACTORS = 5 /* each frequency is divided by a factor of its own: longrope, arXiv 2402.13753 */
};

/* Rotary positions (Su et al., "RoFormer", arXiv 2104.09864) [rule 16]. In each head of queries and keys, pair i of the
 * elements rotary_offset to rotary_offset + rotary_size - 1 is rotated by the angle position * theta_i, with theta_i =
 * base^(-2i / rotary_size), changed as scaling says: (a, b) becomes (a cos - b sin, b cos + a sin). Angles are computed in
 * f64, and their cosines and sines rounded once. A query's position is K - Q + i unless heed_sequence_inputs says another,
 * that of a key its index. Members that a scaling does not use must be 0. */
struct heed_rope_options {
  size_t struct_size;
  int64_t rotary_size;     /* even; 0: the rest of the head */
  int64_t rotary_offset;   /* the first element that is rotated */
  int64_t original_length; /* positions of the training: YARN, LLAMA3, FACTORS without an attention_factor */
  int64_t num_factors;     /* FACTORS: rotary_size / 2 */
  const float* factors;    /* FACTORS: theta_i is divided by factors[i], above 0; copied */
  float base;              /* 0: 10000 */
  float factor;            /* LINEAR, NTK, YARN, LLAMA3: how much longer, above 0; required. FACTORS: the same, for the
                              attention factor alone, where up to 1 means 1; required, unless attention_factor is given */
  float beta_fast;         /* YARN: frequencies that turn more often in original_length stay as they are; 0: 32 */
  float beta_slow;         /* YARN: those that turn less often are divided by factor; 0: 1 */
  float low_freq_factor;   /* LLAMA3: wavelengths above original_length / low_freq_factor are stretched; 0: 1 */
  float high_freq_factor;  /* LLAMA3: those below original_length / high_freq_factor stay; 0: 4 */
  float attention_factor;  /* factor on cosines and sines. 0: with a factor above 1, YARN 0.1 ln(factor) + 1, FACTORS
                              sqrt(1 + ln(factor) / ln(original_length)); else 1 */
  int32_t layout;          /* HEED_ROPE_HALF or HEED_ROPE_INTERLEAVED; required */
  int32_t scaling;         /* HEED_ROPE_SCALING_... */
  int32_t no_rounding;     /* YARN: 1: the ends of the range of frequencies are not rounded to whole pairs, as gpt-oss */
  const float* short_factors; /* FACTORS: NULL, or num_factors numbers in place of factors for calls whose positions are all
                                 below original_length ("longrope" of Phi-3); copied. A cache of rotated keys that were
                                 rotated with the one list is refused in a call that takes the other */
};
#define HEED_ROPE_OPTIONS_INIT                                                                                    \
  { sizeof(heed_rope_options), 0, 0, 0, 0, NULL, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0, HEED_ROPE_SCALING_NONE, \
    0, NULL }

/* The kinds of positional encoding. With p the position, d = size and i from 0: */
enum {
  HEED_POSITIONS_SINUSOIDAL = 0,           /* sin(p / 10000^(2i/d)), cos(p / 10000^(2i/d)) in turn (Vaswani et al., section
                                              3.5): the paper, d2l */
  HEED_POSITIONS_SINUSOIDAL_HALVES = 1,    /* sines of p / 10000^(i / (d/2 - 1)), then cosines: Whisper, fairseq */
  HEED_POSITIONS_LEARNED = 2,              /* row first_row + p of a table: BERT, GPT-2, OPT, BART */
  HEED_POSITIONS_SINUSOIDAL_HALVES_2I = 3  /* sines of p / 10000^(2i/d), then cosines: Marian */
};

/* Positional encoding: output = dropout(queries + the row of each position). Queries (B, S, size): row s of a batch
 * element has the position s unless heed_sequence_inputs says another. Parameters, for HEED_POSITIONS_LEARNED alone:
 *   weight (first_row + max_positions, size)
 * Sinusoids are computed in f64 and rounded once, all of them when the layer is created: they take max_positions * size *
 * 4 bytes for as long as it lives, 977 MiB for 10^6 positions of size 256. */
typedef struct heed_positional_encoding_options {
  size_t struct_size;
  int64_t max_positions; /* how many positions there are: position p must be below it; required, >= 1 */
  int64_t size;          /* required, >= 1; even for HEED_POSITIONS_SINUSOIDAL_HALVES, above 2, and ..._HALVES_2I */
  int64_t first_row;     /* learned: the row of position 0, as 2 for OPT, BART and RoBERTa */
  float dropout;         /* probability, 0 <= dropout < 1, that an element is dropped when training [rule 11] */
  int32_t kind;          /* HEED_POSITIONS_... */
} heed_positional_encoding_options;
#define HEED_POSITIONAL_ENCODING_OPTIONS_INIT \
  { sizeof(heed_positional_encoding_options), 0, 0, 0, 0.0f, HEED_POSITIONS_SINUSOIDAL }

/* Makes a positional encoding. A learned table is a parameter; the others are initialized from the start. The caller
 * destroys *layer.
 * Errors: INVALID_ARGUMENT (max_positions or size below 1; a size that is odd where it must be even; first_row negative,
 * or not 0 for sinusoids; dropout outside [0, 1); kind). */
HEED_API heed_status heed_positional_encoding_create(heed_context* context,
                                                     const heed_positional_encoding_options* options,
                                                     heed_layer** layer) HEED_NOEXCEPT;

/* ---- 3.3 Padding and packing ------------------------------------------------------------------------------------- */

/* Where the rows of queries and keys are, for attention and positional encoding; a pointer in heed_layer_inputs. All
 * members are I32 or I64, in memory of the device as the other inputs [rule 4].
 *
 * Packed: with query_offsets the rows of all batch elements lie one after another, without padding. Element b has the
 * rows query_offsets[b] to query_offsets[b + 1] - 1 of queries, which are then (total, Eq), in dot-product attention
 * (total, D) or (H, total, D); likewise key_offsets, keys and values. output and log_sum_exp have the same form,
 * (total, output size) and (H, total). Without dropout the results have the same bits as those of each element alone. */
struct heed_sequence_inputs {
  size_t struct_size;
  const heed_tensor* positions;     /* NULL, or (B, Q), packed (total): the position of each query, from 0 to 2^31 - 1. In
                                       self-attention (keys NULL, or the same tensor as queries) it is that of the row as a
                                       key too: windows, ALiBi, relative bias and rotary positions use it, and causal masks
                                       compare rows. Otherwise key j has the position j, or key_positions[j], and causal
                                       masks compare positions as well, whatever the alignment [rule 6]. NULL, in
                                       attention: query i has the position that the alignment of mask and window says,
                                       and K - Q + i for rotary positions, ALiBi and relative bias. NULL, in a positional
                                       encoding: row s has the position s */
  const heed_tensor* query_lens;    /* NULL, or (B), from 0 to Q: later rows of queries are padding: they are not computed,
                                       their ids and positions are not read, and their results are 0, log_sum_exp -inf.
                                       In self-attention (keys NULL, or the same tensor as queries) they are no keys either */
  const heed_tensor* query_offsets; /* NULL, or (B + 1): from 0 to total, never falling. Excludes query_lens, valid_lens,
                                       mask, bias and weights */
  const heed_tensor* key_offsets;   /* with query_offsets: NULL in self-attention, where keys have the rows of queries; or
                                       (B + 1): from 0 to the number of rows of keys, never falling */
  const heed_tensor* key_positions; /* with positions: NULL, or (B, K), packed (total): the position of each key, where keys are
                                       an array of their own. Not with a cache, which has them */
};
#define HEED_SEQUENCE_INPUTS_INIT { sizeof(heed_sequence_inputs), NULL, NULL, NULL, NULL, NULL }

/* ---- 3.4 Other attention ----------------------------------------------------------------------------------------- */

/* Makes a dot-product attention layer. It has no parameters and is initialized from the start. options NULL: the
 * macro's. The caller destroys *layer.
 * Errors: INVALID_ARGUMENT (scale not finite; soft_cap negative or not finite; dropout outside [0, 1); a window size
 * without a window; enumerations). */
HEED_API heed_status heed_dot_product_attention_create(heed_context* context,
                                                       const heed_dot_product_attention_options* options,
                                                       heed_layer** layer) HEED_NOEXCEPT;

/* Additive attention (Bahdanau et al., "Neural Machine Translation by Jointly Learning to Align and Translate", 2014,
 * arXiv 1409.0473, appendix A.1.2): the score of a query q and a key k, which may have different sizes, is w_v .
 * tanh(W_q q + W_k k). Values are not projected. Parameters, (out, in) as in d2l, DJL and PyTorch, no biases:
 *   W_q.weight (num_hiddens, Eq)     W_k.weight (num_hiddens, Ek)     w_v.weight (1, num_hiddens) */
typedef struct heed_additive_attention_options {
  size_t struct_size;
  int64_t num_hiddens;   /* required, >= 1 */
  int64_t window_left;   /* this and the following as in heed_dot_product_attention_options, but for scale */
  int64_t window_right;
  float scale;           /* factor on the formula above; 0: 1; any other finite number [rule 2] */
  float soft_cap;
  float dropout;
  int32_t causal;
  int32_t window;
  int32_t empty_rows;
} heed_additive_attention_options;
#define HEED_ADDITIVE_ATTENTION_OPTIONS_INIT                                                                \
  { sizeof(heed_additive_attention_options), 0, 0, 0, 0.0f, 0.0f, 0.0f, HEED_CAUSAL_NONE, HEED_WINDOW_NONE, \
    HEED_EMPTY_ROWS_ZERO }

/* Makes an additive attention layer. Its input sizes are learned when it gets its parameters. The caller destroys
 * *layer.
 * Errors: those of dot-product attention; INVALID_ARGUMENT (num_hiddens below 1). */
HEED_API heed_status heed_additive_attention_create(heed_context* context,
                                                    const heed_additive_attention_options* options,
                                                    heed_layer** layer) HEED_NOEXCEPT;

/* Attention with the general score of Luong et al. ("Effective Approaches to Attention-based Neural Machine Translation",
 * 2015, arXiv 1508.04025, section 3.1): the score of a query q and a key k, which may have different sizes, is q . (W k).
 * Values are not projected. Parameter, (out, in) as in PyTorch, no bias:
 *   W.weight (query_size, Ek) */
typedef struct heed_general_attention_options {
  size_t struct_size;
  int64_t query_size;    /* Eq; required, >= 1 */
  int64_t window_left;   /* this and the following as in heed_dot_product_attention_options, but for scale */
  int64_t window_right;
  float scale;           /* factor on the formula above; 0: 1; any other finite number [rule 2] */
  float soft_cap;
  float dropout;
  int32_t causal;
  int32_t window;
  int32_t empty_rows;
} heed_general_attention_options;
#define HEED_GENERAL_ATTENTION_OPTIONS_INIT                                                                \
  { sizeof(heed_general_attention_options), 0, 0, 0, 0.0f, 0.0f, 0.0f, HEED_CAUSAL_NONE, HEED_WINDOW_NONE, \
    HEED_EMPTY_ROWS_ZERO }

/* Makes an attention layer with Luong's general score. The size of keys is learned when it gets its parameter. The caller
 * destroys *layer.
 * Errors: those of dot-product attention; INVALID_ARGUMENT (query_size below 1). */
HEED_API heed_status heed_general_attention_create(heed_context* context, const heed_general_attention_options* options,
                                                   heed_layer** layer) HEED_NOEXCEPT;

/* ---- 3.5 Parts of a network -------------------------------------------------------------------------------------- */

/* A linear layer, y = x W^T + b, over the last axis of its input of any rank. Parameters, with the names and shapes of
 * PyTorch's nn.Linear:
 *   weight (output_size, input size)     bias (output_size), unless no_bias */
typedef struct heed_linear_options {
  size_t struct_size;
  int64_t output_size;   /* required, >= 1 */
  int32_t no_bias;       /* 1: y = x W^T */
  int32_t reserved;      /* 0 */
} heed_linear_options;
#define HEED_LINEAR_OPTIONS_INIT { sizeof(heed_linear_options), 0, 0, 0 }

/* Makes a linear layer. Its input size is learned when it gets its parameters. The caller destroys *layer.
 * Errors: INVALID_ARGUMENT (output_size below 1; no_bias not 0 or 1). */
HEED_API heed_status heed_linear_create(heed_context* context, const heed_linear_options* options,
                                        heed_layer** layer) HEED_NOEXCEPT;

/* Dropout (Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", 2014) in its
 * inverted form. When training, an element is kept with probability 1 - dropout and then multiplied by 1 / (1 -
 * dropout); a dropped element becomes 0, even if it was NaN or infinite. Otherwise, and with a dropout of 0, the output
 * is the input with the same bits, or converted to F32. Which elements are kept depends only on the seed and on the
 * element's index in row-major order (docs/semantics.md, "Random numbers"). It has no parameters. */
typedef struct heed_dropout_options {
  size_t struct_size;
  float dropout;         /* probability, 0 <= dropout < 1, that an element is dropped when training */
  int32_t reserved;      /* 0 */
} heed_dropout_options;
#define HEED_DROPOUT_OPTIONS_INIT { sizeof(heed_dropout_options), 0.0f, 0 }

/* Makes a dropout layer. It has no parameters and is initialized from the start. options NULL: the macro's values, with
 * which nothing is dropped. The caller destroys *layer.
 * Errors: INVALID_ARGUMENT (dropout outside [0, 1)). */
HEED_API heed_status heed_dropout_create(heed_context* context, const heed_dropout_options* options,
                                         heed_layer** layer) HEED_NOEXCEPT;

/* The kinds of norm over the last axis. With x a row of d elements, g the parameter weight and b the parameter bias: */
enum {
  HEED_NORM_LAYER = 0, /* (x - mean) / sqrt(variance + epsilon) * g + b, with the mean and the biased variance of the row
                          (Ba et al., "Layer Normalization", arXiv 1607.06450) */
  HEED_NORM_RMS = 1    /* x / sqrt(mean of x^2 + epsilon) * g (Zhang and Sennrich, "Root Mean Square Layer Normalization",
                          arXiv 1910.07467) */
};

/* A norm over the last axis of its input of any rank. Variances are computed in two passes, so that a row of numbers that
 * are nearly equal is exact [rule 18]. Parameters, whose size is learned:
 *   weight (d), initially 1     bias (d), initially 0, with HEED_NORM_LAYER unless no_bias */
typedef struct heed_layer_norm_options {
  size_t struct_size;
  float epsilon;         /* above 0; 0: 1e-5, as PyTorch. Files of weights do not contain it: docs/blocks.md lists those
                            of the families of models */
  int32_t kind;          /* HEED_NORM_LAYER or HEED_NORM_RMS */
  int32_t no_bias;       /* 1: a layer norm without bias */
  int32_t reserved;      /* 0 */
} heed_layer_norm_options;
#define HEED_LAYER_NORM_OPTIONS_INIT { sizeof(heed_layer_norm_options), 0.0f, HEED_NORM_LAYER, 0, 0 }

/* Makes a norm. Its size is learned when it gets its parameters. options NULL: the macro's values. The caller destroys
 * *layer.
 * Errors: INVALID_ARGUMENT (epsilon negative or not finite; kind; no_bias not 0 or 1). */
HEED_API heed_status heed_layer_norm_create(heed_context* context, const heed_layer_norm_options* options,
                                            heed_layer** layer) HEED_NOEXCEPT;

/* Activations, each with its formula, since frameworks call several of them "gelu" (Hendrycks and Gimpel, arXiv
 * 1606.08415). sigma is the logistic function, Phi the distribution function of the normal distribution: */
enum {
  HEED_ACTIVATION_RELU = 0,      /* max(x, 0); NaN stays NaN */
  HEED_ACTIVATION_GELU = 1,      /* x Phi(x): PyTorch's and Keras' default, "gelu" of Hugging Face */
  HEED_ACTIVATION_GELU_TANH = 2, /* x sigma(2 sqrt(2 / pi) (x + 0.044715 x^3)): "gelu_new", "gelu_pytorch_tanh" */
  HEED_ACTIVATION_GELU_QUICK = 3, /* x sigma(1.702 x): "quick_gelu" of CLIP */
  HEED_ACTIVATION_SILU = 4       /* x sigma(x): "silu", "swish" */
};

/* The position-wise feed-forward network (Vaswani et al., section 3.3) over the last axis of its input of any rank:
 * W_2 dropout(activation(W_1 x)), or with gated W_2 dropout(activation(W_gate x) * W_1 x) (Shazeer, "GLU Variants Improve
 * Transformer", arXiv 2002.05202). Parameters, (out, in):
 *   W_1.weight (hidden_size, E)         W_1.bias (hidden_size)       unless no_bias
 *   W_gate.weight (hidden_size, E)      W_gate.bias (hidden_size)    with gated
 *   W_2.weight (output_size, hidden_size)  W_2.bias (output_size)    unless no_bias */
typedef struct heed_feed_forward_options {
  size_t struct_size;
  int64_t hidden_size;   /* required, >= 1 */
  int64_t output_size;   /* 0: the size of the input */
  int32_t activation;    /* HEED_ACTIVATION_... */
  int32_t gated;         /* 1: activation(W_gate x) * W_1 x */
  int32_t no_bias;       /* 1: no bias in any of them */
  float dropout;         /* probability, 0 <= dropout < 1, that an element of what W_2 reads is dropped when training
                            [rule 11] */
} heed_feed_forward_options;
#define HEED_FEED_FORWARD_OPTIONS_INIT { sizeof(heed_feed_forward_options), 0, 0, HEED_ACTIVATION_RELU, 0, 0, 0.0f }

/* Makes a feed-forward network. Its input size is learned when it gets its parameters. The caller destroys *layer.
 * Errors: INVALID_ARGUMENT (hidden_size below 1; output_size negative; activation; flags not 0 or 1; dropout outside
 * [0, 1)). */
HEED_API heed_status heed_feed_forward_create(heed_context* context, const heed_feed_forward_options* options,
                                              heed_layer** layer) HEED_NOEXCEPT;

/* An embedding: output[..., :] = weight[id[...], :] * scale. Queries are the ids, I32 or I64, of rank 0 to 7. Parameter:
 *   weight (num_embeddings, embedding_size) */
typedef struct heed_embedding_options {
  size_t struct_size;
  int64_t num_embeddings; /* ids are from 0 to num_embeddings - 1; required, 1 to 2^31 - 1 */
  int64_t embedding_size; /* required, >= 1 */
  int64_t padding_index;  /* the id whose row is initialized to 0; it is read like any other. -1: none */
  float scale;            /* 0: 1; sqrt(embedding_size) as in Vaswani et al., section 3.4, and Gemma */
  int32_t reserved;       /* 0 */
} heed_embedding_options;
#define HEED_EMBEDDING_OPTIONS_INIT { sizeof(heed_embedding_options), 0, 0, -1, 0.0f, 0 }

/* Makes an embedding. The caller destroys *layer.
 * Errors: INVALID_ARGUMENT (num_embeddings or embedding_size out of range; padding_index that is neither -1 nor an id;
 * scale not finite). */
HEED_API heed_status heed_embedding_create(heed_context* context, const heed_embedding_options* options,
                                           heed_layer** layer) HEED_NOEXCEPT;

/* The embedding of an image's patches (Dosovitskiy et al., "An Image is Worth 16x16 Words", arXiv 2010.11929, equation 1).
 * Queries are images (B, C, H, W), C num_channels, H a multiple of patch_height and W one of patch_width. The patches lie side
 * by side without overlap. Row y * (W / patch_width) + x of the output belongs to the patch y from above and x from the left:
 *   weight patch + bias     with the elements of the patch in the order (C, patch_height, patch_width)
 * With class_token the first row is that parameter, and those of the patches follow. The output is (B, N, size), N the number
 * of rows. Parameters:
 *   weight (size, C * patch_height * patch_width)     bias (size), unless no_bias     class_token (size), with class_token */
typedef struct heed_patch_embedding_options {
  size_t struct_size;
  int64_t patch_height;  /* required, >= 1 */
  int64_t patch_width;   /* 0: patch_height */
  int64_t num_channels;  /* required, >= 1; 3 for colours */
  int64_t size;          /* required, >= 1 */
  int32_t class_token;   /* 1: a first row that is a parameter, for classification */
  int32_t no_bias;       /* 1: no bias */
  int64_t image_height;  /* 0: images of any size; otherwise H of all images, for a table of positions, whose rows belong to
                            the places of one grid: images of 2 x 8 patches have as many as images of 4 x 4 */
  int64_t image_width;   /* W of all images; 0: image_height */
} heed_patch_embedding_options;
#define HEED_PATCH_EMBEDDING_OPTIONS_INIT { sizeof(heed_patch_embedding_options), 0, 0, 0, 0, 0, 0, 0, 0 }

/* Makes a patch embedding. The caller destroys *layer.
 * Errors: INVALID_ARGUMENT (patch_height, num_channels or size below 1; patch_width negative; a patch of 2^63 elements or
 * more; flags not 0 or 1; image_height or image_width negative or no multiple of the patch's; image_width without
 * image_height). heed_layer_forward: INVALID_ARGUMENT (queries of another rank or number of channels; a height or width
 * that is no multiple of the patch's, or another one than that of the options). */
HEED_API heed_status heed_patch_embedding_create(heed_context* context, const heed_patch_embedding_options* options,
                                                 heed_layer** layer) HEED_NOEXCEPT;

/* The convolutions in front of Whisper's encoder (Radford et al., "Robust Speech Recognition via Large-Scale Weak
 * Supervision", arXiv 2212.04356, section 2.2). Queries are the features of frames, such as a log-Mel spectrogram, (B, M, T), M
 * num_mels. The output is (B, T / 2 rounded up, size), with x and h 0 outside of their frames:
 *   h[t] = gelu(conv_1.weight [x[t - 1], x[t], x[t + 1]] + conv_1.bias)                 for the T frames of x
 *   output[t] = gelu(conv_2.weight [h[2t - 1], h[2t], h[2t + 1]] + conv_2.bias)
 * Parameters; a weight is that of PyTorch's Conv1d, (out, in, 3), with its last two axes exchanged, as a matrix (out, 3 * in):
 *   conv_1.weight (size, 3 * M)     conv_1.bias (size)     conv_2.weight (size, 3 * size)     conv_2.bias (size) */
typedef struct heed_audio_embedding_options {
  size_t struct_size;
  int64_t num_mels;      /* required, >= 1 */
  int64_t size;          /* required, >= 1 */
} heed_audio_embedding_options;
#define HEED_AUDIO_EMBEDDING_OPTIONS_INIT { sizeof(heed_audio_embedding_options), 0, 0 }

/* Makes the convolutions of an audio embedding. The caller destroys *layer.
 * Errors: INVALID_ARGUMENT (num_mels or size below 1 or above 2^63 / 3). heed_layer_forward: INVALID_ARGUMENT (queries of
 * another rank or number of features). */
HEED_API heed_status heed_audio_embedding_create(heed_context* context, const heed_audio_embedding_options* options,
                                                 heed_layer** layer) HEED_NOEXCEPT;

/* ---- 3.6 Encoders and decoders ----------------------------------------------------------------------------------- */

/* A layer of a Transformer's encoder (Vaswani et al., section 3.1), over (B, S, E), or packed (total, E). A is
 * self_attention, F is feed_forward:
 *   norm_first 0   h = norm_1(x + dropout_1(A(x)))         output = norm_2(h + dropout_2(F(h)))
 *   norm_first 1   h = x + dropout_1(A(norm_1(x)))         output = h + dropout_2(F(norm_2(h)))
 * (Xiong et al., "On Layer Normalization in the Transformer Architecture", arXiv 2002.04745, compare them.) Children:
 * self_attention, feed_forward, norm_1, norm_2, dropout_1, dropout_2; parameters have their names before their own, as
 * "self_attention.W_q.weight". With output_norms also output_norm_1 and output_norm_2, which A(...) and F(...) pass before
 * the dropout (Gemma 2); with no_first_norm there is no norm_1, and A reads x itself (the first layer of ModernBERT). */
typedef struct heed_encoder_layer_options {
  size_t struct_size;
  const heed_multi_head_attention_options* attention; /* required, with num_hiddens E; output_size 0 or E; no
                                                         no_output_projection */
  const heed_feed_forward_options* feed_forward;      /* required; output_size 0 or E */
  const heed_layer_norm_options* norm;                /* of both norms; NULL: the macro's values */
  int32_t norm_first;    /* 1: norms before attention and feed-forward ("pre-norm") */
  float dropout;         /* probability, 0 <= dropout < 1, of dropout_1 and dropout_2 when training [rule 11] */
  int32_t output_norms;  /* 1: norms also of the outputs of attention and feed-forward; only with norm_first */
  int32_t no_first_norm; /* 1: no norm_1; only with norm_first */
  float residual_scale;  /* what A(...) and F(...) are multiplied by, before the dropout (Granite's residual_multiplier);
                            0: 1. Not with output_norms */
  int32_t reserved;      /* 0 */
} heed_encoder_layer_options;
#define HEED_ENCODER_LAYER_OPTIONS_INIT \
  { sizeof(heed_encoder_layer_options), NULL, NULL, NULL, 0, 0.0f, 0, 0, 0.0f, 0 }

/* Makes an encoder layer with its children. The caller destroys *layer.
 * Errors: those of its children, with their names, as options->attention->num_heads; INVALID_ARGUMENT (attention or
 * feed_forward NULL; num_hiddens 0; an output_size other than num_hiddens; no_output_projection; flags that are not 0 or
 * 1; output_norms or no_first_norm without norm_first; residual_scale not finite, or with output_norms; dropout outside
 * [0, 1)). */
HEED_API heed_status heed_encoder_layer_create(heed_context* context, const heed_encoder_layer_options* options,
                                               heed_layer** layer) HEED_NOEXCEPT;

/* A layer of a Transformer's decoder (Vaswani et al., section 3.1), over (B, T, E), or packed (total, E). A is
 * self_attention, C(x) is cross_attention of queries x to the encoder's output, inputs->keys, F is feed_forward:
 *   norm_first 0   h = norm_1(x + dropout_1(A(x)))   g = norm_2(h + dropout_2(C(h)))
 *                  output = norm_3(g + dropout_3(F(g)))
 *   norm_first 1   h = x + dropout_1(A(norm_1(x)))   g = h + dropout_2(C(norm_2(h)))
 *                  output = g + dropout_3(F(norm_3(g)))
 * Without cross attention, as in GPT, the second step, norm_3 and dropout_3 are left out, and F has norm_2 and dropout_2.
 * Children: self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, dropout_1, dropout_2, dropout_3, and
 * output_norm_1 to output_norm_3 as in an encoder layer. Which keys are hidden is an option of the attentions, such as causal
 * of self_attention, and an input. */
typedef struct heed_decoder_layer_options {
  size_t struct_size;
  const heed_multi_head_attention_options* self_attention;  /* required, as attention of heed_encoder_layer_options */
  const heed_multi_head_attention_options* cross_attention; /* the same; NULL: a decoder without an encoder */
  const heed_feed_forward_options* feed_forward;            /* required; output_size 0 or E */
  const heed_layer_norm_options* norm;                      /* of all norms; NULL: the macro's values */
  int32_t norm_first;    /* as in heed_encoder_layer_options, and so the others */
  float dropout;
  int32_t output_norms;
  int32_t no_first_norm;
  float residual_scale;
  int32_t reserved;      /* 0 */
} heed_decoder_layer_options;
#define HEED_DECODER_LAYER_OPTIONS_INIT \
  { sizeof(heed_decoder_layer_options), NULL, NULL, NULL, NULL, 0, 0.0f, 0, 0, 0.0f, 0 }

/* Makes a decoder layer with its children. The caller destroys *layer.
 * Errors: as heed_encoder_layer_create; INVALID_ARGUMENT (cross_attention of another num_hiddens). */
HEED_API heed_status heed_decoder_layer_create(heed_context* context, const heed_decoder_layer_options* options,
                                               heed_layer** layer) HEED_NOEXCEPT;

/* The last projection of a model, for example to logits: cap(scale (W x + b)), with cap(z) = soft_cap tanh(z / soft_cap), or z
 * without soft_cap. Child "output", a linear layer with parameters
 *   output.weight (size, E), unless tied     output.bias (size), with bias */
typedef struct heed_output_options {
  size_t struct_size;
  int64_t size;          /* required, >= 1; with tied 0 or the number of embeddings */
  int32_t tied;          /* 1: W is the table of the embedding, which is not copied (Press and Wolf, "Using the Output
                            Embedding to Improve Language Models", arXiv 1608.05859). If its rows have another size than
                            those of the layers, x first passes "output_projection", without bias (OPT) */
  int32_t bias;          /* 1: b is added */
  float scale;           /* 0: 1; 1 / logits_scaling of Granite, 1 / sqrt(E) of T5 */
  float soft_cap;        /* 0: none; final_logit_softcapping of Gemma 2 */
} heed_output_options;
#define HEED_OUTPUT_OPTIONS_INIT { sizeof(heed_output_options), 0, 0, 0, 0.0f, 0.0f }

/* A stack of encoder layers, each of which reads the output of the one before. Queries are rows (B, S, E) or packed (total,
 * E) or, with an embedding, the ids of rows, I32 or I64, (B, S) or (total), or what patches or audio reads. Before the first
 * layer come those of
 *   rows of the ids = embedding(ids) + token_type_embedding(inputs->token_types)     with embedding and num_token_types
 *   rows of the images = patches(images), or rows of the features = audio(features)
 *   positions, embedding_norm, embedding_projection to E if the embedding has another size, embedding_dropout
 * that the options have, in this order; if positions->size is E and the embedding has another size, embedding_projection
 * comes before positions (OPT). Children: these, "layers.0", "layers.1", ..., "norm" with final_norm, and "output".
 * With an embedding the output has the dtype of its table, or F32. */
typedef struct heed_encoder_options {
  size_t struct_size;
  const heed_encoder_layer_options* layer; /* of all layers; required without layers */
  int64_t num_layers;    /* required, 1 to 4096 */
  int32_t final_norm;    /* 1: a norm after the last layer, with the options of the layers' norms. It is never assumed:
                            with norm_first a stack usually has it, in nn.Transformer without norm_first too */
  int32_t reserved;      /* 0 */
  const heed_encoder_layer_options* const* layers; /* NULL, or num_layers options, one for each layer; then layer is NULL.
                                                      All have the same num_hiddens. The final norm, embedding_norm and
                                                      embedding_dropout have the norm and dropout of the first layer */
  const heed_embedding_options* embedding;  /* NULL: queries are rows; embedding_size 0: E */
  const heed_positional_encoding_options* positions; /* NULL: none; size 0: that of the embedding, or E without one. Its
                                                        dropout is besides embedding_dropout, which has the layers' */
  const heed_output_options* output;        /* NULL: none */
  int64_t num_token_types; /* 0: none; only with an embedding */
  int32_t embedding_norm;  /* 1: a norm before the first layer, with the options of the layers' norms */
  int32_t share_layers;    /* 1: all layers are the same, with the parameters of "layers.0" (ALBERT) */
  int32_t no_projection_bias; /* 1: embedding_projection has no bias (OPT) */
  int32_t reserved_2;      /* 0 */
  const heed_patch_embedding_options* patches; /* NULL: queries are no images; not with embedding; size 0: E. Lengths, masks
                                                  and positions count the rows of its output (ViT). Learned positions are
                                                  as many as these rows, unless the call gives positions */
  const heed_audio_embedding_options* audio;   /* NULL: queries are no features; likewise, and not with patches (Whisper) */
} heed_encoder_options;
#define HEED_ENCODER_OPTIONS_INIT \
  { sizeof(heed_encoder_options), NULL, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL }

/* Makes a stack of encoder layers. The memory of a call is that of one layer and of two activations (B, S, E). The caller
 * destroys *layer.
 * Errors: as heed_encoder_layer_create, with "layer->" or "layers[i]->" in the names; INVALID_ARGUMENT (not exactly one of
 * layer and layers; num_layers outside 1 to 4096; flags that are not 0 or 1; layers of different sizes; positions or an
 * output that do not fit the embedding; a tied output or token types without an embedding; more than one of
 * embedding, patches and audio; patches or audio of another size). */
HEED_API heed_status heed_encoder_create(heed_context* context, const heed_encoder_options* options,
                                         heed_layer** layer) HEED_NOEXCEPT;

/* A stack of decoder layers, all of which attend to the same inputs->keys; otherwise as heed_encoder_options. With a cache,
 * positions continue those of its sequences. */
typedef struct heed_decoder_options {
  size_t struct_size;
  const heed_decoder_layer_options* layer; /* of all layers; required without layers */
  int64_t num_layers;
  int32_t final_norm;
  int32_t reserved;      /* 0 */
  const heed_decoder_layer_options* const* layers;
  const heed_embedding_options* embedding;
  const heed_positional_encoding_options* positions;
  const heed_output_options* output;
  int64_t num_token_types;
  int32_t embedding_norm;
  int32_t share_layers;
  int32_t no_projection_bias;
  int32_t reserved_2;      /* 0 */
} heed_decoder_options;
#define HEED_DECODER_OPTIONS_INIT { sizeof(heed_decoder_options), NULL, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0 }

/* Makes a stack of decoder layers, likewise. The caller destroys *layer.
 * Errors: as heed_encoder_create and heed_decoder_layer_create. */
HEED_API heed_status heed_decoder_create(heed_context* context, const heed_decoder_options* options,
                                         heed_layer** layer) HEED_NOEXCEPT;

/* A Transformer (Vaswani et al., section 3): an encoder, and a decoder that attends to its output. inputs->keys are what the
 * encoder reads, (B, S), and queries what the decoder reads, (B, T): ids with an embedding, rows without; keys are images or
 * features if the encoder has patches or audio. valid_lens are the
 * lengths of keys, for the encoder and for cross attention, and so is a mask (B, 1, 1, S). The output is the decoder's.
 *   queries NULL                the encoder alone runs, and the output is its output
 *   inputs->decoder->memory     the decoder alone runs, with that output of the encoder; keys is NULL
 * Children: "embedding", "decoder_embedding", which is the same, "encoder", "decoder", "output". */
typedef struct heed_transformer_options {
  size_t struct_size;
  const heed_encoder_options* encoder;     /* required, without output */
  const heed_decoder_options* decoder;     /* required, with cross attention */
  const heed_embedding_options* embedding; /* of the ids of both; NULL: their own, or rows; embedding_size 0: E */
  const heed_output_options* output;       /* NULL: none */
} heed_transformer_options;
#define HEED_TRANSFORMER_OPTIONS_INIT { sizeof(heed_transformer_options), NULL, NULL, NULL, NULL }

/* Makes a Transformer: an encoder and a decoder, each with its options, and what they share. The caller destroys *layer.
 * Errors: as heed_encoder_create and heed_decoder_create, with "encoder->" or "decoder->" in the names; INVALID_ARGUMENT (no
 * cross attention; an embedding or an output for both and for one of them; sizes that do not fit). */
HEED_API heed_status heed_transformer_create(heed_context* context, const heed_transformer_options* options,
                                             heed_layer** layer) HEED_NOEXCEPT;

/* What decoder layers and decoders read besides heed_layer_inputs, whose queries are the decoder's rows, and whose keys,
 * valid_lens, mask and bias are those of cross attention: keys is the encoder's output, (B, S, E of the encoder). A pointer
 * in heed_layer_inputs. */
struct heed_decoder_inputs {
  size_t struct_size;
  const heed_tensor* self_valid_lens; /* NULL, or the valid_lens of self-attention, over the T rows of queries */
  const heed_tensor* self_mask;       /* NULL, or the mask of self-attention */
  const heed_tensor* self_bias;       /* NULL, or the bias of self-attention */
  const heed_tensor* memory;          /* NULL, or for a Transformer the encoder's output, (B, S, E), which an earlier call
                                         gave; decoders have it in keys */
  const heed_cache_inputs* memory_cache; /* NULL, or for decoders with cross attention a cache that heed_layer_fill_cache
                                            filled with the keys and values of the encoder's output, with HEED_CACHE_READ;
                                            layer n of the decoder reads layer + n of the cache. Then keys, valid_lens and
                                            memory are NULL */
  const heed_tensor* self_attention_mask; /* NULL, or attention_mask of the rows of queries, (B, T) */
};
#define HEED_DECODER_INPUTS_INIT { sizeof(heed_decoder_inputs), NULL, NULL, NULL, NULL, NULL, NULL }

/* ==== 4. Caches =================================================================================================== */

/* ---- 4.1 Cache --------------------------------------------------------------------------------------------------- */

/* The projected keys and values of sequences that grow row by row, so that a layer need not project them again
 * (docs/caches.md). A cache holds up to max_sequences sequences for num_layers layers of one geometry. Row i of a
 * sequence is the i-th that was appended, from 0; every layer has its own keys and values of it. heed_layer_forward
 * appends rows and attends to all of them (heed_cache_inputs).
 *   made by   heed_cache_create
 *   used by   heed_layer_forward and heed_layer_fill_cache, with heed_cache_inputs (4.2); functions on sequences (4.3)
 *   freed by  heed_cache_destroy; its memory when no call uses it any more
 *   threads   one call at a time changes a cache, by forward with HEED_CACHE_APPEND or by a function below that takes a
 *             heed_cache that is not const; others fail meanwhile with HEED_ERROR_BUSY. Calls that only read run together
 *
 * The length of a sequence is the number of its rows that all layers have: a step appends to one layer after the other.
 * A row also has a position, its index unless heed_sequence_inputs or heed_cache_discard say otherwise; rotary
 * positions, ALiBi, relative bias and windows use it, and causal masks use the row's index [rule 17]. */
typedef struct heed_cache heed_cache;

/* Where rows are kept. The results of forward have the same bits for every layout that keeps the same rows. */
enum {
  HEED_CACHE_CONTIGUOUS = 0, /* each sequence has memory for capacity rows */
  HEED_CACHE_RING = 1,       /* each sequence keeps its last rows: a query sees itself, the capacity - 1 rows before it,
                                and of the first num_sinks rows those before it: rows behind it, also sinks of the same
                                call, are hidden without a causal mask too. With HEED_CACHE_READ every query counts as
                                the last row of the sequence */
  HEED_CACHE_PAGED = 2       /* sequences share num_pages pages of page_size rows, and take one when they need it */
};

/* The geometry of a cache. */
typedef struct heed_cache_options {
  size_t struct_size;
  int64_t num_layers;      /* 0: 1 */
  int64_t max_sequences;   /* 0: 1 */
  int64_t num_kv_heads;    /* Hkv of the layers; required, >= 1 */
  int64_t head_size;       /* D of keys; required, 1 to 4096 */
  int64_t value_head_size; /* Dv; at most 4096; 0: head_size */
  int64_t capacity;        /* the most rows of a sequence; in a ring the rows that a query sees besides the sinks, itself
                              included; required, 1 to 2^31 - 1 */
  int64_t num_sinks;       /* rings: first rows that are never dropped (Xiao et al., "Efficient Streaming Language Models
                              with Attention Sinks", arXiv 2309.17453) */
  int64_t page_size;       /* paged: rows of a page, a multiple of 16; 0: 64, in an Ascend device's memory 128, or with heads
                              above 128 elements as many as 16384 elements of a head allow */
  int64_t num_pages;       /* paged: pages that all sequences share; required, >= 1 */
  int32_t layout;          /* HEED_CACHE_CONTIGUOUS, HEED_CACHE_RING or HEED_CACHE_PAGED */
  int32_t dtype;           /* HEED_F32, HEED_F16, HEED_BF16, or HEED_I8 with an F32 scale for each key and each value of
                              a head: its largest magnitude / 127. Need not be the dtype of the layer's inputs */
  int32_t unrotated_keys;  /* 1: keys are kept before rotary positions and rotated whenever they are read, which takes
                              time: then heed_cache_discard can renumber without rounding, with HEED_I8 too. Not in a
                              ring */
  int32_t reserved;        /* 0 */
  const int64_t* layer_capacities; /* NULL, or num_layers numbers: the rows that a row of the layer sees, itself included,
                              or 0 for all: the window_left + 1 of a causal layer with a window, as heed_layer_cache_options says.
                              Such a layer keeps no more than those, the rows of a call, and up to 79 more, where that is
                              less than capacity; a layer that sees more is refused. It is read when the cache is made.
                              Rings, caches with unrotated_keys and those in an Ascend device's memory do not use it: all
                              their layers keep as many rows */
} heed_cache_options;
#define HEED_CACHE_OPTIONS_INIT \
  { sizeof(heed_cache_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, HEED_CACHE_CONTIGUOUS, HEED_F32, 0, 0, NULL }

/* The bytes that a cache with these options takes, all of them allocated at creation: for each layer, row and key head
 * (D + Dv) elements, with HEED_I8 two scales more, and a position for each layer and row. Rows: contiguous
 * max_sequences * capacity, rounded up to 16 for each sequence; rings num_sinks and capacity, each rounded up to 16, and
 * 64 more; paged num_pages * page_size; layers with a number in layer_capacities max_sequences times that number, rounded
 * up to 16, and 64 more. Tables take some bytes for each sequence and page. For a cache in host memory: one
 * in an Ascend device's memory has pages of 128 rows where page_size is 0, and contiguous ones round up to as many.
 * Errors: INVALID_ARGUMENT (a member outside its range, or without meaning for the layout; sizes that overflow),
 * UNSUPPORTED (unrotated_keys in a ring). */
HEED_API heed_status heed_cache_size(const heed_cache_options* options, size_t* num_bytes) HEED_NOEXCEPT;

/* Sets num_layers, num_kv_heads, head_size and value_head_size of *options, which HEED_CACHE_OPTIONS_INIT or the caller has
 * set, to those of the layer: a multi-head attention, a decoder layer, a decoder or a Transformer. layer_capacities becomes
 * that of self-attention in a decoder or Transformer with windows, else NULL. Its num_layers numbers belong to the layer and
 * are valid as long as its handle; set NULL in its place for a cache whose layers all keep capacity rows, or that has more
 * layers.
 * Errors: UNSUPPORTED (a layer that uses no cache, or whose attentions have different sizes). */
HEED_API heed_status heed_layer_cache_options(const heed_layer* layer, heed_cache_options* options) HEED_NOEXCEPT;

/* Creates an empty cache for layers of this context or another one of the same device. The caller destroys *cache. It is in
 * host memory or, on Ascend, if ATB can attend to it there, in the device's memory (docs/caches.md).
 * Errors: those of heed_cache_size; OUT_OF_MEMORY. */
HEED_API heed_status heed_cache_create(heed_context* context, const heed_cache_options* options,
                                       heed_cache** cache) HEED_NOEXCEPT;

/* Drops the caller's reference. NULL is allowed. A call in flight keeps the cache alive. */
HEED_API void heed_cache_destroy(heed_cache* cache) HEED_NOEXCEPT;

/* ---- 4.2 Calls with a cache -------------------------------------------------------------------------------------- */

/* What forward does with a cache. */
enum {
  HEED_CACHE_APPEND = 0, /* appends the keys and values of the call's rows, then attends to all rows of the sequence */
  HEED_CACHE_READ = 1    /* attends to the rows of the sequence; keys and values must be NULL */
};

/* What one call does with a cache; a pointer in heed_layer_inputs. Multi-head attention with HEED_SCORING_DOT_PRODUCT
 * takes caches [rule 17].
 *
 * APPEND: keys and values, if not NULL, have as many rows as queries: row i of the queries of batch element b is
 * appended to its sequence, and attends to all rows of the sequence that causal mask and window leave visible, those of
 * this call included. Elements may differ in length (query_lens), also 0, and be packed (query_offsets), so that prompts
 * and single rows run in one call. A row has the same bits alone, in any batch, and with any other number of rows in the
 * same call. positions of heed_sequence_inputs are those of the appended rows, from 0 to 2^31 - 1; NULL: they continue
 * after the last row's. A failed call leaves the cache as it was, except that a ring has lost rows that the call
 * overwrote if, without a heed_progress, the host's executor or the device has failed while it computed.
 *
 * READ: the rows attend to the sequence as it is, as in cross attention. */
struct heed_cache_inputs {
  size_t struct_size;
  heed_cache* cache;            /* required; READ does not change it */
  const heed_tensor* sequences; /* NULL: batch element b is sequence b; or I32 or I64 of (B): its sequence. With APPEND all
                                   are different */
  int64_t layer;                /* which of the cache's layers this one is, from 0 */
  int32_t use;                  /* HEED_CACHE_APPEND or HEED_CACHE_READ */
  int32_t reserved;             /* 0 */
};
#define HEED_CACHE_INPUTS_INIT { sizeof(heed_cache_inputs), NULL, NULL, 0, HEED_CACHE_APPEND, 0 }

/* Projects keys and values and appends them to a cache without attending to them: the memory of cross attention, which
 * later calls with HEED_CACHE_READ attend to. inputs->cache is required, with HEED_CACHE_APPEND. The rows are those of
 * keys, (B, K, Ek), and values; keys NULL: those of queries; queries may be NULL if keys are given. query_lens (B) says
 * how many rows of each element are appended, query_offsets that they are packed. With a workspace nothing is allocated
 * (on the CPU); heed_layer_workspace_size of the same inputs with all outputs suffices.
 * Decoders with cross attention read keys, the encoder's output (B, S, E), and append the keys and values of every layer,
 * of layer n to the cache's layer cache->layer + n; Transformers likewise, with keys that the encoder runs first, or its
 * output as decoder->memory. With valid_lens (B), query_lens (B) or attention_mask (B, S) the padding of each element is not
 * appended. Later calls read them with decoder->memory_cache.
 * Errors: those of heed_layer_forward; UNSUPPORTED also for layers without an attention that reads a cache. */
HEED_API heed_status heed_layer_fill_cache(const heed_layer* layer, const heed_layer_inputs* inputs,
                                           heed_workspace* workspace) HEED_NOEXCEPT;

/* ---- 4.3 Sequences ----------------------------------------------------------------------------------------------- */

/* The number of rows of a sequence that all layers have, rows that a ring has dropped included; -1 for a bad handle or a
 * sequence below 0 or above max_sequences - 1. While another call changes the cache it may be the length before or after
 * it. */
HEED_API int64_t heed_cache_length(const heed_cache* cache, int64_t sequence) HEED_NOEXCEPT;

/* The oldest row after the sinks that all layers keep; 0 if none has been dropped. -1 as heed_cache_length. A ring keeps up to 79
 * rows more than a query sees, so that these can be rewound. */
HEED_API int64_t heed_cache_first(const heed_cache* cache, int64_t sequence) HEED_NOEXCEPT;

/* The number of rows of a sequence that a layer keeps, T of heed_cache_read; -1 as heed_cache_length, or for a layer below
 * 0 or above num_layers - 1. */
HEED_API int64_t heed_cache_num_rows(const heed_cache* cache, int64_t layer, int64_t sequence) HEED_NOEXCEPT;

/* The number of pages that no sequence has. Contiguous and ring caches: of sequences that have no memory, or in an Ascend
 * device's memory of pages of its own. Pages of layers with a number in layer_capacities are not counted, unless all
 * layers have one. -1 for a bad handle. */
HEED_API int64_t heed_cache_free_pages(const heed_cache* cache) HEED_NOEXCEPT;

/* Gives the sequence pages for `length` rows, so that appending up to there cannot fail with CACHE_FULL, unless it shares
 * a page with a fork. Does nothing if it has them.
 * Errors: INVALID_ARGUMENT (sequence; a negative length), CACHE_FULL (also a length above capacity), BUSY. */
HEED_API heed_status heed_cache_reserve(heed_cache* cache, int64_t sequence, int64_t length) HEED_NOEXCEPT;

/* Drops the rows from `length` on, in all layers, and gives their pages back, reserved ones included; 0 empties the
 * sequence. What follows has the same bits as if the rows had never been appended. A ring can only be rewound to a length
 * after which no query sees a row that it has dropped: to num_sinks or less, or to heed_cache_first + capacity - 1 or more.
 * So can a cache with layer_capacities, by the window of each layer.
 * Errors: INVALID_ARGUMENT (sequence; length outside 0 to that of the most advanced layer; a ring that has dropped rows
 * that a query sees then, naming the oldest row), BUSY. */
HEED_API heed_status heed_cache_rewind(heed_cache* cache, int64_t sequence, int64_t length) HEED_NOEXCEPT;

/* Makes sequence `to`, which loses its rows, a copy of the first `length` rows of `from`. The two share pages, and a page
 * is copied when one of them first writes to it: so no row is copied here. from == to is heed_cache_rewind.
 * Errors: INVALID_ARGUMENT (from, to; length as in heed_cache_rewind), BUSY. */
HEED_API heed_status heed_cache_fork(heed_cache* cache, int64_t from, int64_t length, int64_t to) HEED_NOEXCEPT;

/* Makes each sequence i < num_sources a copy of what sequence sources[i] was before the call: beams. Shares pages as
 * heed_cache_fork does. A sequence may be the source of several ones or of none.
 * Errors: INVALID_ARGUMENT (num_sources outside 0 to max_sequences; a source outside 0 to max_sequences - 1), BUSY. */
HEED_API heed_status heed_cache_reorder(heed_cache* cache, const int64_t* sources, int64_t num_sources) HEED_NOEXCEPT;

/* Of the rows from `from` on, keeps rows from + kept[0], from + kept[1], ..., which move to from, from + 1, ... with
 * their positions, and drops the others: the accepted path of a tree of drafts. All layers must have the same rows.
 * Errors: INVALID_ARGUMENT (sequence; from outside 0 to length, or dropped; kept not rising, or beyond the last row;
 * layers of different lengths), CACHE_FULL (pages shared with a fork must be copied), BUSY. If a device fails while it
 * writes, its failure, and the sequence keeps only rows that have not moved. */
HEED_API heed_status heed_cache_accept(heed_cache* cache, int64_t sequence, int64_t from, const int64_t* kept,
                                       int64_t num_kept) HEED_NOEXCEPT;

/* Drops rows first to first + num_rows - 1; later rows move down. With renumber 0 these keep their positions, so that the
 * text has a gap. With 1 num_rows is subtracted from their positions, and keys with rotary positions are rotated back
 * from those as stored, which rounds them once more (not with unrotated_keys): a context shift. All layers must have the
 * same rows.
 * Errors: INVALID_ARGUMENT (sequence; rows that the sequence does not have, or a ring has dropped; rows without which a
 * window of layer_capacities would reach dropped ones; layers of different lengths; positions that would be negative),
 * UNSUPPORTED (renumber with rotary positions in HEED_I8 without unrotated_keys; in a cache that was loaded and that no
 * layer has used since), CACHE_FULL as heed_cache_accept, BUSY; the failure of a device as there. */
HEED_API heed_status heed_cache_discard(heed_cache* cache, int64_t sequence, int64_t first, int64_t num_rows,
                                        int32_t renumber) HEED_NOEXCEPT;

/* Writes the kept rows of a layer, in order, to keys (Hkv, T, D) and values (Hkv, T, Dv) of F32, F16, BF16 or F64, any
 * strides; NULL: not wanted. T is heed_cache_num_rows: heed_cache_length, unless the layer is ahead of others or a ring has
 * dropped rows. Keys are as they are kept: rotated unless unrotated_keys, HEED_I8
 * times its scale.
 * Errors: INVALID_ARGUMENT (layer, sequence; dims, dtype; both NULL; read-only or overlapping tensors), BUSY. */
HEED_API heed_status heed_cache_read(const heed_cache* cache, int64_t layer, int64_t sequence, heed_tensor* keys,
                                     heed_tensor* values) HEED_NOEXCEPT;

/* ---- 4.4 Files of caches ----------------------------------------------------------------------------------------- */

/* Saves the rows that all layers have as a .safetensors file: "layers.<i>.keys" (Hkv, T, D) and "layers.<i>.values"
 * (Hkv, T, Dv) in the cache's dtype, with HEED_I8 "layers.<i>.key_scales" and "layers.<i>.value_scales" (Hkv, T),
 * "layers.<i>.positions" I32 (T), "rows" I64 with what docs/caches.md lists, and "rope" U8 with the rotary positions as
 * JSON. Rows that a ring has dropped are left out. The file appears whole or not at all.
 * Errors: INVALID_ARGUMENT (sequence), IO, BUSY. */
HEED_API heed_status heed_cache_save(const heed_cache* cache, int64_t sequence, const char* path) HEED_NOEXCEPT;

/* Replaces the rows of a sequence by those of a file that heed_cache_save wrote. The cache may have another layout, page
 * size, capacity or number of sequences; num_layers, heads, head sizes, dtype and unrotated_keys must be equal. What
 * follows has the same bits as in the cache that was saved, if both keep the same rows. On failure the sequence is as it
 * was, or empty if a device fails while it writes.
 * Errors: INVALID_ARGUMENT (sequence; a file of another geometry or dtype, or with other rotary positions than the rows
 * that the cache holds, naming both), CACHE_FULL, IO, CORRUPT_FILE, NOT_FOUND (a tensor is missing: the file is no
 * cache's, or of fewer layers), UNSUPPORTED (a file of another version), BUSY. CORRUPT_FILE is also what "rows" and "rope"
 * say, if heed_cache_save cannot have written it: then the sequence is as it was. */
HEED_API heed_status heed_cache_load(heed_cache* cache, int64_t sequence, const char* path) HEED_NOEXCEPT;

/* Writes what heed_cache_save writes to a file to destination, and the number of bytes to *num_bytes; with destination
 * NULL only the latter.
 * Errors: INVALID_ARGUMENT (sequence; capacity less than needed), BUSY. */
HEED_API heed_status heed_cache_save_memory(const heed_cache* cache, int64_t sequence, void* destination, size_t capacity,
                                            size_t* num_bytes) HEED_NOEXCEPT;

/* heed_cache_load from the bytes of such a file. */
HEED_API heed_status heed_cache_load_memory(heed_cache* cache, int64_t sequence, const void* data,
                                            size_t num_bytes) HEED_NOEXCEPT;

/* ==== 5. Models =================================================================================================== */

/* ---- 5.1 Models from folders ------------------------------------------------------------------------------------- */

/* Options for loading parameters: of heed_layer_load_weights, and of heed_model_create. */
typedef struct heed_load_options {
  size_t struct_size;
  const char* accept; /* names, separated by commas, of features of the model that the layer does not compute and that
                         shall not be an error: "rotary", "causal" and so on, or the name of a tensor. Error sentences
                         give these names, and docs/weights.md lists them; another name is INVALID_ARGUMENT. NULL:
                         none */
  const heed_progress* progress; /* NULL, or reports in bytes: done are those that have been read, total is the size of all
                                    parameters in the files. Checks before the first report read headers, and tensors that
                                    may be copies of another one */
  int32_t widen;                 /* 1: parameters of 16 bits in the file become F32, also where the layer had 16 bits before, as
                                    training needs them (7.1); 0: they keep their dtype */
  int32_t reserved;
} heed_load_options;
#define HEED_LOAD_OPTIONS_INIT { sizeof(heed_load_options), NULL, NULL, 0, 0 }

/* Options of heed_model_create. */
typedef struct heed_model_options {
  size_t struct_size;
  const heed_load_options* load; /* NULL: the macro's values. accept is that of heed_layer_load_weights, and also takes the
                                    names of settings of config.json whose meaning heed does not know */
} heed_model_options;
#define HEED_MODEL_OPTIONS_INIT { sizeof(heed_model_options), NULL }

/* Makes the whole model of a folder, with its weights: config.json, and model.safetensors or
 * model.safetensors.index.json with the files that it names, as Hugging Face's libraries write them. The model_type says
 * which layer it is:
 *   an encoder      bert, roberta, xlm-roberta, camembert, distilbert, electra, albert, modernbert, clip_text_model,
 *                   and t5 and mt5 whose architectures name an ...EncoderModel: ids (B, S) to hidden states (B, S, E), the
 *                   model's last_hidden_state; vit: pixel_values (B, C, H, W) of the image_size of config.json to the same
 *   a decoder       gpt2, opt, llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3_text, phi3, granite: ids (B, S) to
 *                   logits (B, S, num_embeddings), or to hidden states if config.json's architectures name no head
 *   a Transformer   bart, mbart, marian, t5, mt5: ids (B, S) and (B, T) to logits, likewise; whisper: input_features
 *                   (B, num_mel_bins, frames) and ids (B, T) to logits
 * Its options are those of config.json, and its biases, gates and norms those of its class and settings (docs/models.md).
 * What a wrapper wrote before all names of tensors, as "module.", is ignored. Ids that pad are hidden by attention_mask or
 * valid_lens, not by their value. Tensors that are not part of it, such as a pooler or another head, give a HEED_LOG_WARNING
 * that names them. The caller destroys *layer.
 * options NULL: the macro's values.
 * Errors: IO (no such folder, no config.json, no weights); CORRUPT_FILE; INVALID_ARGUMENT (no model_type; a setting that
 * contradicts the files); NOT_FOUND (a tensor is missing); UNSUPPORTED (a family that is not listed; quantized weights; a
 * setting whose meaning heed does not know, by its name; all that heed_layer_load refuses); CANCELLED (by
 * options->load->progress: no layer is made). */
HEED_API heed_status heed_model_create(heed_context* context, const char* folder, const heed_model_options* options,
                                       heed_layer** layer) HEED_NOEXCEPT;

/* heed_model_create without options.
 * Errors: those of heed_model_create without CANCELLED. */
HEED_API heed_status heed_layer_create_from_folder(heed_context* context, const char* folder,
                                                   heed_layer** layer) HEED_NOEXCEPT;

/* ---- 5.2 Weights ------------------------------------------------------------------------------------------------- */

/* The named tensors of a .safetensors file, or of all files of a model that is split into several: to list them, and to
 * load many layers while the headers are read once. Read-only; may be used from many threads.
 *   made by   heed_weights_open and heed_weights_open_memory
 *   used by   heed_layer_load_weights, of any number of layers, which copy what they need
 *   freed by  heed_weights_destroy, which closes the files
 *   threads   many at once */
typedef struct heed_weights heed_weights;

/* Opens a file, or all files of a model by their index or by one of them, as heed_tensor_load_safetensors takes them,
 * and reads and checks their headers. The files stay open, with one file descriptor each, and must not be changed until
 * *weights is destroyed. The caller destroys *weights.
 * Errors: IO and CORRUPT_FILE as heed_tensor_load_safetensors; UNSUPPORTED (a name with a zero byte). A dtype that heed
 * lacks and a rank above 8 are not errors here; heed_weights_dtype and heed_weights_rank report them. */
HEED_API heed_status heed_weights_open(heed_context* context, const char* path, heed_weights** weights) HEED_NOEXCEPT;

/* heed_weights_open for the num_bytes at data, which are the contents of one file. They are not copied: they must stay
 * valid and unchanged until *weights is destroyed and no call uses it. Error sentences call the file "memory".
 * Errors: as heed_weights_open, without IO; CORRUPT_FILE (an index, whose files are not in memory). */
HEED_API heed_status heed_weights_open_memory(heed_context* context, const void* data, size_t num_bytes,
                                              heed_weights** weights) HEED_NOEXCEPT;

/* Drops the caller's reference. NULL is allowed. Loaded layers have copies. */
HEED_API void heed_weights_destroy(heed_weights* weights) HEED_NOEXCEPT;

/* How many tensors there are; -1 for NULL. */
HEED_API int64_t heed_weights_count(const heed_weights* weights) HEED_NOEXCEPT;

/* The name of a tensor, in UTF-8; index is from 0 to heed_weights_count - 1, in bytewise order of the names. Valid until
 * weights is destroyed. NULL for a bad handle or index. */
HEED_API const char* heed_weights_name(const heed_weights* weights, int64_t index) HEED_NOEXCEPT;

/* The element type of a tensor. HEED_DTYPE_INVALID for a type that heed lacks; that is not a failure and does not
 * change the last error; heed_weights_dtype_name names the type. HEED_DTYPE_INVALID for a bad handle or index too. */
HEED_API heed_dtype heed_weights_dtype(const heed_weights* weights, int64_t index) HEED_NOEXCEPT;

/* The element type as the file names it, such as "F32" or "F8_E4M3". Valid until weights is destroyed. NULL for a bad
 * handle or index. */
HEED_API const char* heed_weights_dtype_name(const heed_weights* weights, int64_t index) HEED_NOEXCEPT;

/* The number of dimensions of a tensor, which may be above 8; such a tensor cannot be loaded. -1 for a bad handle or
 * index. */
HEED_API int32_t heed_weights_rank(const heed_weights* weights, int64_t index) HEED_NOEXCEPT;

/* The size of an axis in elements; a negative axis counts from the end. -1 for a bad handle or index, an axis out of
 * range, or a tensor of rank above 8 (HEED_ERROR_UNSUPPORTED). */
HEED_API int64_t heed_weights_dim(const heed_weights* weights, int64_t index, int32_t axis) HEED_NOEXCEPT;

/* heed_layer_load from weights that are open already. options NULL: the macro's values. weights may be of another
 * context, and is only needed during the call.
 * Errors: as heed_layer_load; IO if a file was truncated meanwhile; CANCELLED (by options->progress). */
HEED_API heed_status heed_layer_load_weights(heed_layer* layer, const heed_weights* weights, const char* prefix,
                                             const heed_load_options* options) HEED_NOEXCEPT;

/* ==== 6. The host, and more of contexts and tensors =============================================================== */

/* ---- 6.1 Callbacks of the host ----------------------------------------------------------------------------------- */

/* The host's own allocator. All memory that outlives a call comes from it: the handles and the objects behind them,
 * parameters, outputs, workspaces and the context's pool of them, and everything else that tensors and layers keep.
 * Memory that a call frees before it returns comes from the C library: texts, the header of a file, lists of tensors
 * that are being loaded, C++ exceptions. heed_layer_forward with a workspace allocates from neither; only for query_lens
 * or query_offsets of some 100 batch elements and more the context takes 64 bytes for each, and keeps them for later
 * calls, and with a heed_progress a call copies the rows of a ring that it overwrites. Device memory, and the host
 * memory of a device's plugin and its vendor's libraries, do not come from the allocator.
 *   allocate  num_bytes (at least 1) at an address that is a multiple of alignment: 64 for elements and workspaces,
 *             otherwise a power of two that is at least C's alignof(max_align_t). The bytes may have any value. If it
 *             returns NULL, the call fails with HEED_ERROR_OUT_OF_MEMORY; a misaligned address is released, and the
 *             call fails with HEED_ERROR_INVALID_ARGUMENT
 *   release   gets the address and the num_bytes of one allocate; called once for each, on any thread
 * Both may be called from many threads at once, and may call heed, which holds no lock meanwhile; neither may throw a
 * C++ exception. The struct is copied. The functions and what user points to must stay valid until the context and all
 * objects made in it are destroyed and no call uses them any more. Objects that are made from others (views, snapshots)
 * belong to the same context as these. */
typedef struct heed_allocator {
  size_t struct_size;
  void* (*allocate)(void* user, size_t num_bytes, size_t alignment);
  void (*release)(void* user, void* memory, size_t num_bytes);
  void* user;
} heed_allocator;
#define HEED_ALLOCATOR_INIT { sizeof(heed_allocator), NULL, NULL, NULL }

/* The host's own thread pool, which computes instead of heed's own threads.
 *   parallel_for  calls run(task, item) once for each item from 0 to num_items - 1, on any threads, in any order, and
 *                 returns when all these calls have returned. It should use as many threads at a time as there are
 *                 items, including the thread that it is called on. 2 <= num_items <= num_threads
 *   num_threads   the number of threads of the pool, from 1 to 1024
 * heed calls parallel_for on the thread whose call computes, or loads, sets, initializes, reads or saves parameters: once
 * for each operation that is large enough to run in parallel, so several times in a call of a layer, and never for a small one.
 * A context has one parallel_for running at a time: calls on other threads, and calls within run, meanwhile compute on
 * their own thread. parallel_for must not throw a C++ exception. If it skips an item, runs one twice or one out of
 * range, or returns before all calls of run have returned, the call fails with HEED_ERROR_INVALID_ARGUMENT and a
 * sentence that says which. The struct is copied; parallel_for and user must stay valid as those of heed_allocator. */
typedef struct heed_executor {
  size_t struct_size;
  void (*parallel_for)(void* user, int64_t num_items, void (*run)(void* task, int64_t item), void* task);
  int64_t num_threads;
  void* user;
} heed_executor;
#define HEED_EXECUTOR_INIT { sizeof(heed_executor), NULL, 0, NULL }

/* The level of a message. Later versions may add levels. */
enum {
  HEED_LOG_ERROR = 1,   /* a call failed: its name and its sentence, such as "heed_layer_load: ..." */
  HEED_LOG_WARNING = 2, /* a forward or an operation does not take the fastest path, with the reason; a layer was loaded
                           from one of several files without their index, or from names that several models have */
  HEED_LOG_INFO = 3,    /* a context was opened, a layer was loaded from a file or from memory, or made from a folder */
  HEED_LOG_DEBUG = 4    /* the kernel of each operation that runs */
};

/* Receives heed's messages; without a logger heed is silent. write gets a level HEED_LOG_... and one line of ASCII text
 * without a newline, which is valid only during the call. It is called on the thread whose call the message is about,
 * so possibly on many threads at once; it must not throw a C++ exception. It may call heed, which holds no lock
 * meanwhile: messages about such calls are dropped, and they do not change the thread's last error. A failure is
 * reported to the logger of the function's first argument. If that is NULL, and in heed_context_create, which has no
 * context yet, it is only in heed_last_error. The struct is copied; write and user must stay valid as those of
 * heed_allocator. */
typedef struct heed_logger {
  size_t struct_size;
  void (*write)(void* user, int32_t level, const char* text);
  void* user;
} heed_logger;
#define HEED_LOGGER_INIT { sizeof(heed_logger), NULL, NULL }

/* ---- 6.2 Options of a context ------------------------------------------------------------------------------------ */

typedef enum heed_device HEED_INT32 {
  HEED_DEVICE_CPU = 0,
  HEED_DEVICE_ASCEND = 1   /* Huawei Ascend NPU */
} heed_device;

/* How many devices of that kind can be used: 1 for the CPU; 0 for another kind if its driver, plugin or device is
 * missing, with the reason as the last error (HEED_ERROR_DEVICE_UNAVAILABLE; HEED_ERROR_INVALID_ARGUMENT for an unknown
 * kind). The plugin of a device is a library in the folder of this library (of the program or library that libheed.a is
 * linked into), or in a folder that the environment variable HEED_PLUGIN_PATH names (several are separated by colons).
 * For Ascend it is libheed_ascend.so, see docs/ascend.md. This function and heed_context_create load it, once in a
 * process, and it is never unloaded. */
HEED_API int32_t heed_device_count(heed_device device) HEED_NOEXCEPT;

/* How a device is opened.
 * Without an allocator heed maps each block of 128 KiB and more, mostly the elements of larger tensors, separately from
 * the system. When the last tensor, view, workspace or call that uses a block is gone, its memory returns to the
 * system, whatever else is in use. The process keeps up to 16 MiB of freed blocks for later blocks of the same size;
 * heed_context_trim releases these, and so does the end of a context. Smaller blocks come from malloc. */
struct heed_context_options {
  size_t struct_size;
  const heed_allocator* allocator;  /* NULL: heed's own, as above */
  const heed_executor* executor;    /* NULL: heed's own threads */
  const heed_logger* logger;        /* NULL: no messages */
  int32_t device;                   /* a heed_device */
  int32_t device_index;             /* index among the devices of that kind, from 0; the CPU has one */
  int32_t num_threads;              /* largest number of threads that a call computes on, including the calling thread;
                                       at most 1024. 0: the number of threads of the executor, or of processors that
                                       this thread may run on (its affinity and the limits of its control groups). Never
                                       more than an executor has. Never changes a result [rule 10] */
  int32_t strict;                   /* 1: a call that cannot take the fastest path fails with HEED_ERROR_NOT_FASTEST and
                                       the reason, which heed_layer_explain gives too; 0: it runs. Reasons on the CPU
                                       are strides that require gathering or scattering single elements, and with few
                                       queries also strides with which keys and values must be transposed or, if those
                                       of a batch element take 2 MiB and more, are read in short pieces, as in (B, S, H,
                                       D). On Ascend it is everything that the CPU has to compute */
  int32_t allow_reduced_precision;  /* 1: a device that computes only in 16 bits may round F32 tensors, and parameters
                                       of another 16-bit dtype than the inputs, to its 16-bit format; with 0 calls with
                                       F32 fail there with HEED_ERROR_UNSUPPORTED. The CPU never needs it */
  int32_t flush_subnormals;         /* 1: what the CPU computes takes subnormal numbers as 0, those that it reads and
                                       those that would be results: magnitudes below 2^-126 in F32 and BF16. Numbers
                                       of F16 are never flushed. 0: they are kept, which makes a layer with such
                                       weights some 200 times slower. docs/semantics.md has the error bound. Without
                                       effect on processors other than x86-64 and AArch64 */
};
#define HEED_CONTEXT_OPTIONS_INIT { sizeof(heed_context_options), NULL, NULL, NULL, HEED_DEVICE_CPU, 0, 0, 0, 0, 0 }

/* Waits until all work on the device is done, and reports, once, a failure that occurred after its call had returned.
 * On the CPU calls return when they are done, and this function returns immediately.
 * Errors: DEVICE_LOST, and the error of the deferred failure. All further calls on a lost device fail with DEVICE_LOST
 * until all objects of all contexts on it are destroyed. */
HEED_API heed_status heed_context_synchronize(heed_context* context) HEED_NOEXCEPT;

/* Releases memory that the context keeps for later calls and that no call uses: the scratch memory of calls without a
 * workspace (heed_layer_forward, heed_softmax and others). The context keeps one block for each call that ran at the
 * same time, each as large as its largest call needed. May be called at any time, from any thread: blocks in use stay,
 * and later calls allocate again. The memory returns to the context's allocator. If that is heed's own (see
 * heed_context_options), blocks of 128 KiB and more return to the system, together with the freed blocks that the
 * process keeps; smaller blocks are freed by the C library.
 * On Ascend this function waits for the device, and returns the driver memory of destroyed tensors and finished calls,
 * which all contexts on the device share; ATB's operations and heed's constants stay.
 * Errors: on a device, as heed_context_synchronize. */
HEED_API heed_status heed_context_trim(heed_context* context) HEED_NOEXCEPT;

/* The device and the options in force as a JSON object (a text result, see above): "device", "device_index", "isa" (the
 * instruction set, as HEED_ISA names it; for an NPU the chip), "num_threads", "strict", "allow_reduced_precision",
 * "flush_subnormals", "allocator" ("host" if one was given, else "heed"), "executor" (likewise), "logger" (whether there is one),
 * "version", "description". */
HEED_API heed_status heed_context_describe(const heed_context* context, char* text, size_t capacity,
                                           size_t* num_bytes) HEED_NOEXCEPT;

/* ---- 6.3 Progress ------------------------------------------------------------------------------------------------ */

/* Reports of a call that may take long, by which it can also be stopped; a pointer in heed_load_options and
 * heed_layer_inputs.
 *   report   done begins with 0 and never falls; the last report of a call that succeeds, and no earlier one, has total. If
 *            report returns another number than 0, the call ends with HEED_ERROR_CANCELLED, and its sentence says how far it
 *            came; there is no further report
 * It is called on the thread of the call, never on another one: between the operations of a call, and within a long one
 * whenever this thread has computed for some milliseconds, or 1 MiB has been read or made. Results have the same bits with
 * and without. A call that is stopped waits for the tasks that its other threads have begun. Then layers and caches are as
 * before, so the call can be made again; the tensors of outputs are undefined. For that a call that appends to a ring keeps
 * a copy of the rows that it overwrites while it runs.
 * report must not throw a C++ exception, and leaves the floating-point environment as it is. It may call heed: with the
 * cache and the workspace of the call as another thread may, which gets HEED_ERROR_BUSY, and without changing the layer. On
 * a device that computes after a call has returned, a report says what has been queued, and is made between operations
 * alone. The struct and what user points to are needed until the call returns. */
struct heed_progress {
  size_t struct_size;
  int32_t (*report)(void* user, int64_t done, int64_t total); /* required */
  void* user;
};
#define HEED_PROGRESS_INIT { sizeof(heed_progress), NULL, NULL }

/* ---- 6.4 Filling and copying ------------------------------------------------------------------------------------- */

/* Sets element i, counted in row-major (logical) order whatever the strides, to start + i * step, with i as a double:
 * one product and one sum, each rounded in double, then converted as heed_tensor_copy converts from F64. Overflow gives
 * infinity.
 * Errors: INVALID_ARGUMENT (start or step not finite; tensor as heed_tensor_fill). */
HEED_API heed_status heed_tensor_fill_arange(heed_tensor* tensor, double start, double step) HEED_NOEXCEPT;

/* Sets the elements of a tensor (H) to the slopes of ALiBi for H heads, in the order of the heads (Press et al., 2022,
 * "Train Short, Test Long"; docs/semantics.md, rule 5): for H a power of two 2^(-8/H), 2^(-16/H), ..., 2^-8; otherwise
 * those of the largest power of two n below H, then the first, third, fifth, ... of 2n. Computed in double and converted
 * as heed_tensor_copy converts from F64. The slopes that a layer reads (heed_layer_inputs, alibi_slopes) are F32.
 * Errors: INVALID_ARGUMENT (a rank other than 1; tensor as heed_tensor_fill). */
HEED_API heed_status heed_tensor_fill_alibi_slopes(heed_tensor* tensor) HEED_NOEXCEPT;

/* Sets every element to a random number, uniformly distributed between low and high: low <= element < high in every
 * dtype except BOOL. low == high gives low. The same seed gives the same numbers on every machine and, except for
 * rounding, in every dtype: element i in row-major (logical) order is low + f_i * (high - low) in double, with f_i in
 * [0, 1) a multiple of 2^-53 from Philox 4x32-10 (docs/semantics.md, "Random numbers"); it is clamped between the
 * dtype's smallest number >= low and its largest number < high, and converted as heed_tensor_copy converts from F64. So
 * integers truncate towards 0: from 0 to 10 they are 0 to 9 with equal probability, but from -5 to 5 they are -4 to 4,
 * and 0 is twice as probable. BOOL is true if the number is not 0.
 * Errors: INVALID_ARGUMENT (low or high not finite; low > high; high - low overflows; a dtype without a number between
 * them; tensor as heed_tensor_fill). */
HEED_API heed_status heed_tensor_fill_uniform(heed_tensor* tensor, double low, double high,
                                              uint64_t seed) HEED_NOEXCEPT;

/* Sets every element to a random number of a normal distribution. The same seed gives the same numbers on every machine
 * and, except for rounding, in every dtype: element i in row-major (logical) order is mean + standard_deviation * z_i
 * in double, with z_i a standard normal number from Philox 4x32-10, at most 6.4 away from 0 (docs/semantics.md, "Random
 * numbers"), converted as heed_tensor_copy converts from F64. heed_tensor_fill_uniform and heed_layer_initialize draw
 * other numbers from the same seed.
 * Errors: INVALID_ARGUMENT (mean or standard_deviation not finite; standard_deviation < 0; tensor as
 * heed_tensor_fill). */
HEED_API heed_status heed_tensor_fill_normal(heed_tensor* tensor, double mean, double standard_deviation,
                                             uint64_t seed) HEED_NOEXCEPT;

/* Copies source into destination with conversion of the dtype and NumPy's broadcasting: axes are aligned at the end, a
 * source axis that is missing or 1 is repeated. Floats narrow by rounding to nearest even, overflow gives infinity.
 * Float to integer truncates and saturates, NaN gives 0; integer to integer saturates; to BOOL, non-zero (NaN too) is
 * true (1); from BOOL, true is 1. The tensors may be of different contexts and of different devices. Anything but a
 * plain copy within one device passes through host memory.
 * Errors: INVALID_ARGUMENT (shapes that do not broadcast, naming both; source and destination overlap; destination
 * read-only, shape-only, or with strides that heed_tensor_write refuses; source shape-only). */
HEED_API heed_status heed_tensor_copy(heed_tensor* destination, const heed_tensor* source) HEED_NOEXCEPT;

/* ---- 6.5 Views --------------------------------------------------------------------------------------------------- */

/* A view with any dims and strides that stay inside the tensor's storage. offset is in elements from the tensor's
 * element (0, 0, ...), and may be negative. strides NULL: row-major. A view shares storage with the tensor, keeps it
 * alive, and is read-only if the tensor is. The caller destroys *view.
 * Errors: INVALID_ARGUMENT (rank, dims; a byte outside the storage, naming it; shape-only). */
HEED_API heed_status heed_tensor_view(heed_tensor* tensor, int32_t rank, const int64_t* dims, const int64_t* strides,
                                      int64_t offset, heed_tensor** view) HEED_NOEXCEPT;

/* A view with other dims and the same elements in the same row-major order. One dim may be -1, which is computed from
 * the others. Never copies. The caller destroys *view.
 * Errors: INVALID_ARGUMENT (another number of elements, naming both; two dims of -1; a -1 without a whole solution),
 * UNSUPPORTED (the strides do not allow such a view: copy into a new tensor first). */
HEED_API heed_status heed_tensor_reshape(heed_tensor* tensor, int32_t rank, const int64_t* dims,
                                         heed_tensor** view) HEED_NOEXCEPT;

/* A view with the axes in another order: axis i of the view is axis axes[i] of the tensor. axes has rank entries, a
 * permutation; NULL reverses the axes. The caller destroys *view.
 * Errors: INVALID_ARGUMENT (an axis out of range or named twice). */
HEED_API heed_status heed_tensor_transpose(heed_tensor* tensor, const int32_t* axes, heed_tensor** view) HEED_NOEXCEPT;

/* A view of the elements start to start + length - 1 along one axis; the rank stays. start may be negative: it counts
 * from the end. The caller destroys *view.
 * Errors: INVALID_ARGUMENT (axis, start or length out of range, naming the dim). */
HEED_API heed_status heed_tensor_slice(heed_tensor* tensor, int32_t axis, int64_t start, int64_t length,
                                       heed_tensor** view) HEED_NOEXCEPT;

/* ---- 6.6 Files of tensors ---------------------------------------------------------------------------------------- */

/* A new row-major tensor with the contents of one tensor of a .safetensors file (github.com/huggingface/safetensors),
 * in the dtype of the file. Only the header and that tensor are read. The caller destroys *tensor.
 * For a model in several files, path is its index (model.safetensors.index.json, whose "weight_map" names the file of
 * each tensor) or any of the files (model-00001-of-00003.safetensors) with the index beside it. All files are in the
 * folder of the index, and only the one that has the tensor is opened. If the index is missing, the file is read by
 * itself.
 * Errors: IO (with the system's reason; a file of the index is missing), CORRUPT_FILE (truncated; an inconsistent
 * length, range or type, naming it; an index that contradicts its files, or that names files in other folders; a file
 * of another kind, such as PyTorch's .bin, Keras' .keras, HDF5, GGUF or a pointer of Git LFS, which is recognized by
 * its first bytes: the sentence says what it is and what to do), NOT_FOUND (name), UNSUPPORTED (a dtype that heed
 * lacks, rank above 8). */
HEED_API heed_status heed_tensor_load_safetensors(heed_context* context, const char* path, const char* name,
                                                  heed_tensor** tensor) HEED_NOEXCEPT;

/* A new row-major tensor with the array of a .npy file, in the dtype of the file, whether the file is in row-major (C)
 * or column-major (Fortran) order (NumPy's numpy.lib.format, versions 1.0, 2.0 and 3.0). The caller destroys *tensor.
 *   descr   <f4  <f2  <f8  <i4  <i8  |i1  |u1  |b1
 *   dtype   F32  F16  F64  I32  I64  I8   U8   BOOL
 * Errors: IO (with the system's reason), CORRUPT_FILE (no magic string; truncated or too long, naming both sizes; an
 * invalid header, naming its byte or key; a shape that overflows; a file of another kind, such as .npz, naming it),
 * UNSUPPORTED (big endian, pickled objects, structured arrays, any other dtype, naming it; rank above 8; another
 * version). */
HEED_API heed_status heed_tensor_load_npy(heed_context* context, const char* path, heed_tensor** tensor) HEED_NOEXCEPT;

/* Writes the tensor to a .npy file of version 1.0 in row-major (C) order, as numpy.save does, byte for byte; BOOL as 0
 * and 1. Any strides are allowed, and a parameter's snapshot can be saved. The file is replaced atomically; on failure
 * it is unchanged.
 * Errors: IO, INVALID_ARGUMENT (shape-only), UNSUPPORTED (BF16, which the format lacks: copy into a tensor of F32
 * first). */
HEED_API heed_status heed_tensor_save_npy(const heed_tensor* tensor, const char* path) HEED_NOEXCEPT;

/* ---- 6.7 DLPack -------------------------------------------------------------------------------------------------- */

/* Tensors are exchanged with other array libraries (PyTorch, NumPy, JAX, ...) without a copy as DLPack's
 * DLManagedTensor (github.com/dmlc/dlpack, dlpack/dlpack.h; this header only declares its name). The consumer calls
 * managed->deleter(managed) once, from any thread, when it does not need the elements any more; in Python a capsule
 * named "dltensor" does that.
 *
 *   DLPack  float 32  float 16  bfloat 16  float 64  int 32  int 64  int 8  uint 8  bool 8 (code 6)   each with 1 lane
 *   dtype   F32       F16       BF16       F64       I32     I64     I8     U8      BOOL
 *
 * The device is kDLCPU (heed exports device_id 0, and ignores it in imports). DLPack has no streams for it: all calls
 * that write the elements must have returned before a tensor is exchanged, and afterwards neither side may write while
 * the other uses the elements. */
struct DLManagedTensor;

/* A managed tensor that shares the tensor's storage and keeps it alive, also after the tensor and its context are
 * destroyed; each side sees what the other writes. data is the element at index (0, 0, ...) with byte_offset 0, aligned
 * to its element's size; strides are always given. A parameter's snapshot, and a view of one, is copied into new
 * row-major memory, since DLPack cannot say that it is read-only. The caller or the consumer calls the deleter, which
 * frees *managed with its arrays and drops its reference to the storage.
 * Errors: INVALID_ARGUMENT (shape-only), UNSUPPORTED (a device for which DLPack has no code, such as Ascend). */
HEED_API heed_status heed_tensor_to_dlpack(heed_tensor* tensor, struct DLManagedTensor** managed) HEED_NOEXCEPT;

/* A tensor over the elements of a managed tensor, of which heed takes ownership: its deleter (may be NULL) is called
 * once, on the thread that drops the last reference, when no tensor, view or running call uses the elements any more;
 * it must not fail. If this function fails, heed has not taken ownership and does not call the deleter. strides NULL:
 * row-major; zero and negative strides are allowed for tensors that are only read. data may be NULL if there are no
 * elements. The caller destroys *tensor.
 * Errors: INVALID_ARGUMENT (a device other than the context's, naming both; ndim or a dim that is negative; shape NULL;
 * data NULL or, with byte_offset, misaligned; sizes or strides that overflow), UNSUPPORTED (any other dtype, more than
 * one lane, ndim above 8; a context on a device for which DLPack has no code, such as Ascend). */
HEED_API heed_status heed_tensor_from_dlpack(heed_context* context, struct DLManagedTensor* managed,
                                             heed_tensor** tensor) HEED_NOEXCEPT;

/* ---- 6.8 Operations on tensors ----------------------------------------------------------------------------------- */

/*
 * Operations compute in F32 from inputs of F32, F16 or BF16 and round once, to the result's dtype; those that say so take
 * other dtypes too. Another dtype is refused: copy it first. Inputs may have any strides, also zero and negative ones. The result is a writable tensor of
 * the right dims (heed_tensor_create makes one) that shares no memory with an input. A dim may be 0. Scratch memory
 * comes from the pool of the result's context, which may allocate when it grows. Errors that all of them report:
 *   INVALID_ARGUMENT   a dtype; a shape, naming what was expected; shape-only tensors; a result that is read-only,
 *                      shares memory with an input, or has strides that heed_tensor_write refuses; tensors of
 *                      different devices
 *   NOT_FASTEST        the result's context is strict, and the operation cannot take the fastest path
 *   DEVICE_LOST
 */

/* The product of two matrices, or of many at once, with the shapes of NumPy's matmul: product = a b, that is
 *   product[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]
 * a and b have rank 1 to 8, and any numbers: product has their common dtype, or F32 where that is F16 or BF16, and is
 * computed in it (6.9, "Types"); integers wrap around. The axes before the last two are broadcast: they are aligned at
 * the end, and one that is missing or 1 is repeated. A vector a (K) counts as one row, a vector b
 * (K) as one column, and product then lacks that axis: (M, K) with (K) gives (M), (K) with (K) gives rank 0. Sums run
 * in the order of k, so that a matrix has the same bits alone and in a batch [rule 10]; K = 0 gives zeros.
 * Errors: INVALID_ARGUMENT (shapes that do not fit, naming both; dtypes without a common one). */
HEED_API heed_status heed_matmul(const heed_tensor* a, const heed_tensor* b, heed_tensor* product) HEED_NOEXCEPT;

/* Softmax along an axis, negative ones counted from the end: result = exp(x) / (sum over the axis of exp(x)), with the
 * largest x subtracted first, so that nothing overflows. tensor has rank 1 to 8, and may be F64, which is computed in F64;
 * result has its dims, and its dtype, or F32 where that is F16 or BF16. NaN or +inf make their row NaN, -inf is a 0, and a row that is all -inf is NaN [rule 8]. An axis of length 0
 * gives an empty result.
 * Errors: INVALID_ARGUMENT (axis). */
HEED_API heed_status heed_softmax(const heed_tensor* tensor, int32_t axis, heed_tensor* result) HEED_NOEXCEPT;

/* The logarithm of heed_softmax: result = x - log(sum over the axis of exp(x)), with the largest x subtracted first, so that
 * nothing overflows and small weights do not become -inf, as the logarithm of heed_softmax would. Otherwise as heed_softmax;
 * -inf stays -inf. */
HEED_API heed_status heed_log_softmax(const heed_tensor* tensor, int32_t axis, heed_tensor* result) HEED_NOEXCEPT;

/* Attention weights from scores: softmax over the last axis, in which a row sees only the keys before its length.
 * scores is (B, Q, K) or (B, H, Q, K); valid_lens is NULL (no key is hidden: heed_softmax), or (B) or (B, Q) of F32,
 * I32 or I64, with whole numbers 0 <= length <= K, for all heads alike [rule 4]; result has the dims of scores, and
 * their dtype or F32. Hidden weights are exactly 0, whatever the scores there, which are not read [rule 8]. A row of
 * length 0 is all 0 [rule 7]; d2l's masked_softmax, which sets hidden scores to -1e6, gives 1/K there, and the same
 * numbers elsewhere unless scores are near -1e6 themselves.
 * Errors: INVALID_ARGUMENT (lengths outside 0 to K or not whole). */
HEED_API heed_status heed_masked_softmax(const heed_tensor* scores, const heed_tensor* valid_lens,
                                         heed_tensor* result) HEED_NOEXCEPT;

/* An activation of each element: result = f(tensor), with f one of HEED_ACTIVATION_... (3.5), such as
 * HEED_ACTIVATION_GELU, computed as in a feed-forward network [rule 18]. tensor has rank 1 to 8, and may be F64, which is
 * computed in F64; result has its dims, and its dtype, or F32 where that is F16 or BF16. NaN gives NaN; -inf gives NaN except with HEED_ACTIVATION_RELU, which gives 0.
 * Errors: INVALID_ARGUMENT (activation). */
HEED_API heed_status heed_activation(const heed_tensor* tensor, int32_t activation, heed_tensor* result) HEED_NOEXCEPT;

/* Rotates pairs of elements by tables of cosines and sines, as the operator RotaryEmbedding of ONNX (opset 23): for each
 * pair (x, y) of a row, with the cosine c and the sine s of the row's position and the pair,
 *   (x c - y s, x s + y c)
 * tensor is (S, D), (B, S, D) or (B, H, S, D) of F32, F16, BF16 or F64. cosines and sines have one shape, whose last axis
 * has R / 2 elements, one for each pair: the first R <= D elements of a row rotate, and the others are copied. With
 * positions, (S) or (B, S) of I32 or I64, the tables are (T, R / 2), and a row has the numbers of row positions[b, s]; with
 * NULL they are (S, R / 2), or (B, S, R / 2) or (1, S, R / 2), and a row has its own. layout is HEED_ROPE_HALF, pairs (i, i +
 * R / 2), or HEED_ROPE_INTERLEAVED, pairs (2i, 2i + 1), ONNX's interleaved 1. The tables are floats of any dtype. Computed
 * in F32, of F64 in F64, where each product and each sum is rounded by itself. result has the dims of tensor, and its
 * dtype, or F32 where that is F16 or BF16; it may be tensor. Layers rotate queries and keys themselves, from positions
 * (heed_rope_options).
 * Errors: INVALID_ARGUMENT (layout; R above D; a position below 0 or not in the tables, naming where it is). */
HEED_API heed_status heed_rotary_embedding(const heed_tensor* tensor, const heed_tensor* cosines,
                                           const heed_tensor* sines, const heed_tensor* positions, int32_t layout,
                                           heed_tensor* result) HEED_NOEXCEPT;

/* Merges the results of one attention that was computed in parts over disjoint keys, such as pieces of a cache, or keys
 * that are divided among devices. With o_n and l_n the output and the log_sum_exp of part n, for each row
 *   l      = log(sum over n of exp(l_n), + exp(sinks[h]) where sinks is given)
 *   output = sum over n of exp(l_n - l) o_n,   log_sum_exp = l
 * with the largest l_n subtracted first, so that nothing overflows (Milakov and Gimelshein, "Online normalizer
 * calculation for softmax", 2018; Dao, "FlashAttention-2", 2023). Logarithms are natural.
 * outputs and log_sum_exps are arrays of num_parts tensors, at least 1: outputs (..., Q, Dv) of one shape and one dtype
 * of F32, F16, BF16, rank 2 to 8; log_sum_exps (..., Q), F32. sinks is NULL or (H) of F32, with outputs (..., H, Q,
 * Dv): for each head the score of a key without a value. It is added once, here, so the parts are computed without it.
 * output has the shape of outputs[0], and its dtype or F32; log_sum_exp is (..., Q), F32; one of the two may be NULL.
 * A part with an l_n of -inf saw no key: it adds nothing, whatever its output is. A row that no part sees gets 0 and
 * -inf [rule 7], with a sink 0 and the sink. An l_n that is NaN or +inf makes its row NaN [rule 8]. The error of an
 * element is at most (n + 2) u max|o_n|, apart from the rounding to its dtype, with u = 2^-24 and n = num_parts.
 * Errors: INVALID_ARGUMENT (shapes, dtypes, memory that results share with parts or with each other). */
HEED_API heed_status heed_attention_merge(const heed_tensor* const* outputs, const heed_tensor* const* log_sum_exps,
                                          int64_t num_parts, const heed_tensor* sinks, heed_tensor* output,
                                          heed_tensor* log_sum_exp) HEED_NOEXCEPT;

/* ---- 6.9 Arithmetic ---------------------------------------------------------------------------------------------- */

/*
 * The functions of 6.9 to 6.11 compute as NumPy does (numpy.org/doc/stable/user/basics.broadcasting.html), with fewer
 * rules for types. Tensors have rank 0 to 8, any strides, and dims that may be 0. A number is a tensor of one element,
 * such as one of rank 0. The result is a tensor that the caller made, with the dims and the dtype that are stated. The
 * errors of 6.8 hold here too, except that a result may be the very memory of an input (the same address and strides), so
 * that it is computed in place where the function says so.
 *
 * Broadcasting: axes are aligned at the end, and one that is missing or 1 is repeated. An input that is computed in place
 * is not repeated.
 *
 * Types. The common dtype of two inputs:
 *   equal dtypes         that dtype
 *   F16 or BF16, F32     F32; F16 with BF16 is refused
 *   F64, any number      F64
 *   I32, I64             I64
 *   an integer, a float  the float's dtype
 * Results have the common dtype, or F32 where that is F16 or BF16; functions say where it differs. BOOL, I8 and U8 are
 * for conditions and for storage: arithmetic refuses them, so copy them into another dtype first. F32 computes in F32, F16
 * and BF16 too, also with integers, rounded once at the end; F64 computes in F64, integers in their dtype, where they wrap around.
 * docs/semantics.md has the error of each function. NaN gives NaN unless a function says otherwise. A context's option
 * flush_subnormals applies to what is computed; functions that choose an element or change its sign keep subnormal ones.
 */

/* Functions of single elements, for heed_elementwise. a and b are elements of the common dtype. Those of one element
 * take integers as F32 where they say "of floats", so that exp of I32 is F32. */
enum {
  HEED_ELEMENTWISE_ADD = 0,          /* a + b */
  HEED_ELEMENTWISE_SUBTRACT = 1,     /* a - b */
  HEED_ELEMENTWISE_MULTIPLY = 2,     /* a b */
  HEED_ELEMENTWISE_DIVIDE = 3,       /* a / b, as IEEE 754: 1 / 0 is infinite. Two integers are refused: copy one into F32 */
  HEED_ELEMENTWISE_POWER = 4,        /* a^b, as C's pow. Integers: by multiplication; b below 0 is refused */
  HEED_ELEMENTWISE_REMAINDER = 5,    /* a - b floor(a / b), with the sign of b, as Python's %. Integers: b = 0 is refused */
  HEED_ELEMENTWISE_MAXIMUM = 6,      /* the larger one; NaN if either is; of 0 and -0 a */
  HEED_ELEMENTWISE_MINIMUM = 7,      /* likewise */
  HEED_ELEMENTWISE_LOGICAL_AND = 8,  /* whether both are true. Any dtypes, not 0 (NaN too) is true; the result is BOOL */
  HEED_ELEMENTWISE_LOGICAL_OR = 9,   /* whether one is true, likewise */
  HEED_ELEMENTWISE_LOGICAL_XOR = 10, /* whether exactly one is true, likewise */
  HEED_ELEMENTWISE_LOGICAL_NOT = 11, /* whether a is not true, likewise; from here on b is NULL */
  HEED_ELEMENTWISE_NEGATIVE = 12,    /* -a */
  HEED_ELEMENTWISE_ABSOLUTE = 13,    /* a without its sign; of the smallest integer itself */
  HEED_ELEMENTWISE_SIGN = 14,        /* -1, 0 or 1; 0 of -0 */
  HEED_ELEMENTWISE_SQUARE = 15,      /* a a */
  HEED_ELEMENTWISE_ROUND = 16,       /* to the nearest whole number, halves to even; integers unchanged */
  HEED_ELEMENTWISE_FLOOR = 17,       /* down, likewise */
  HEED_ELEMENTWISE_CEIL = 18,        /* up, likewise */
  HEED_ELEMENTWISE_TRUNCATE = 19,    /* towards 0, likewise */
  HEED_ELEMENTWISE_SQRT = 20,        /* the square root; NaN below 0. From here on: of floats */
  HEED_ELEMENTWISE_EXP = 21,         /* e^a */
  HEED_ELEMENTWISE_LOG = 22,         /* natural logarithm; -inf of 0, NaN below 0 */
  HEED_ELEMENTWISE_SIN = 23,         /* of radians; NaN of infinities */
  HEED_ELEMENTWISE_COS = 24,         /* likewise */
  HEED_ELEMENTWISE_TANH = 25,        /* hyperbolic tangent */
  HEED_ELEMENTWISE_SIGMOID = 26,     /* 1 / (1 + e^-a) */
  HEED_ELEMENTWISE_ERF = 27,         /* the error function, 2 / sqrt(pi) times the integral from 0 to a of e^-t^2 */
  HEED_ELEMENTWISE_IS_NAN = 28,      /* whether a is NaN; the result is BOOL */
  HEED_ELEMENTWISE_IS_INFINITE = 29  /* whether a is inf or -inf; the result is BOOL */
};

/* result = function(a, b) for each element, with function one of HEED_ELEMENTWISE_... and b NULL for those of one element.
 * a and b are broadcast to result's dims. result may be a, or b.
 * Errors: INVALID_ARGUMENT (function; b given or NULL where it must not be; dims that do not broadcast, naming the axis;
 * dtypes that have no common one; an integer's division, remainder by 0, or power below 0, naming its index). */
HEED_API heed_status heed_elementwise(int32_t function, const heed_tensor* a, const heed_tensor* b,
                                      heed_tensor* result) HEED_NOEXCEPT;

/* heed_elementwise with HEED_ELEMENTWISE_ADD: sum = a + b. */
HEED_API heed_status heed_add(const heed_tensor* a, const heed_tensor* b, heed_tensor* sum) HEED_NOEXCEPT;

/* heed_elementwise with HEED_ELEMENTWISE_SUBTRACT: difference = a - b. */
HEED_API heed_status heed_subtract(const heed_tensor* a, const heed_tensor* b, heed_tensor* difference) HEED_NOEXCEPT;

/* heed_elementwise with HEED_ELEMENTWISE_MULTIPLY: product = a b, element by element. */
HEED_API heed_status heed_multiply(const heed_tensor* a, const heed_tensor* b, heed_tensor* product) HEED_NOEXCEPT;

/* heed_elementwise with HEED_ELEMENTWISE_DIVIDE: quotient = a / b. */
HEED_API heed_status heed_divide(const heed_tensor* a, const heed_tensor* b, heed_tensor* quotient) HEED_NOEXCEPT;

/* Comparisons for heed_compare. With NaN all are false but HEED_COMPARE_NOT_EQUAL, which is true; 0 equals -0. */
enum {
  HEED_COMPARE_EQUAL = 0,
  HEED_COMPARE_NOT_EQUAL = 1,
  HEED_COMPARE_LESS = 2,
  HEED_COMPARE_LESS_EQUAL = 3,
  HEED_COMPARE_GREATER = 4,
  HEED_COMPARE_GREATER_EQUAL = 5
};

/* result = whether a and b, of the common dtype, compare so; result is BOOL. Two BOOL are compared too, false before true.
 * a and b are broadcast to result's dims.
 * Errors: as heed_elementwise; INVALID_ARGUMENT (comparison). */
HEED_API heed_status heed_compare(int32_t comparison, const heed_tensor* a, const heed_tensor* b,
                                  heed_tensor* result) HEED_NOEXCEPT;

/* result = condition ? a : b for each element, as NumPy's where. condition is BOOL; a and b have any equal dtype, or a
 * common one. All three are broadcast to result's dims. result may be one of them.
 * Errors: as heed_elementwise; INVALID_ARGUMENT (condition of another dtype). */
HEED_API heed_status heed_select(const heed_tensor* condition, const heed_tensor* a, const heed_tensor* b,
                                 heed_tensor* result) HEED_NOEXCEPT;

/* result = low where tensor is below low, high where it is above high, and tensor elsewhere, as NumPy's clip: the minimum
 * of high and the maximum of low and the element. NULL low or high: no such limit; one of them is given. They have the
 * dtype of tensor and are broadcast with it to result's dims. result may be tensor.
 * Errors: as heed_elementwise; INVALID_ARGUMENT (both limits NULL). */
HEED_API heed_status heed_clip(const heed_tensor* tensor, const heed_tensor* low, const heed_tensor* high,
                               heed_tensor* result) HEED_NOEXCEPT;

/* ---- 6.10 Reductions --------------------------------------------------------------------------------------------- */

/* Reductions for heed_reduce, of the n elements along the axes that are reduced, in row-major order. Sums are computed
 * pairwise in F32, and in F64 for F64, in an order that depends on nothing but the dims, so that results have the same bits
 * for any strides and number of threads: the error of a sum is at most (log2(n) + 24) u times the sum of absolute values,
 * with u = 2^-24, 2^-53 for F64. */
enum {
  HEED_REDUCE_SUM = 0,    /* 0 without elements. Of integers and BOOL: I64, wrapping around */
  HEED_REDUCE_MEAN = 1,   /* sum / n; NaN without elements. Of integers and BOOL: F32, from a sum in F64 */
  HEED_REDUCE_MAX = 2,    /* the largest; NaN if one is. BOOL: whether one is true. At least one element */
  HEED_REDUCE_MIN = 3,    /* the smallest, likewise. BOOL: whether all are true */
  HEED_REDUCE_PROD = 4,   /* the product; 1 without elements. Of integers and BOOL: I64, wrapping around */
  HEED_REDUCE_NORM = 5,   /* sqrt(sum of squares), without overflow where the result is finite. Of integers: F32 */
  HEED_REDUCE_ARGMAX = 6, /* I64: the index of the first largest, of the first NaN if there is one. At least one element;
                             along one axis or all, where it counts in row-major order */
  HEED_REDUCE_ARGMIN = 7  /* I64: of the first smallest, likewise */
};

/* Reduces one axis of tensor, or all. result has the dims of tensor without the axis, or with 1 in its place. If result has
 * one element and the axis alone does not give that, all axes are reduced. result has the dtype of tensor, or F32 where that is
 * F16 or BF16, unless the reduction says otherwise. I8 and U8 are refused, and BOOL by HEED_REDUCE_NORM.
 * Errors: INVALID_ARGUMENT (reduction; axis; dims or dtype of result; no element where one is needed). */
HEED_API heed_status heed_reduce(int32_t reduction, const heed_tensor* tensor, int32_t axis,
                                 heed_tensor* result) HEED_NOEXCEPT;

/* Reduces several axes of tensor: num_axes of them, at least 1, each once; axes NULL: all. result has the dims of tensor without these
 * axes, or with ones in their place.
 * Errors: as heed_reduce; INVALID_ARGUMENT (an axis that is named twice; HEED_REDUCE_ARGMAX and _ARGMIN of more than one
 * axis that are not all). */
HEED_API heed_status heed_reduce_axes(int32_t reduction, const heed_tensor* tensor, const int32_t* axes,
                                      int32_t num_axes, heed_tensor* result) HEED_NOEXCEPT;

/* Sums along an axis of all elements up to each one, as NumPy's cumsum: result[i] = result[i - 1] + tensor[i]. result has the
 * dims of tensor, and its dtype, or F32 where that is F16 or BF16; of integers and BOOL I64. Sums run in the order of the
 * axis. result may be tensor.
 * Errors: INVALID_ARGUMENT (axis; I8 and U8). */
HEED_API heed_status heed_cumulative_sum(const heed_tensor* tensor, int32_t axis, heed_tensor* result) HEED_NOEXCEPT;

/* ---- 6.11 Order and selection ------------------------------------------------------------------------------------ */

/* Sorts along an axis. descending 0: the smallest first; 1: the largest first. NaN counts as the largest number; 0 and -0
 * are equal, and equal elements keep their order. values and indices are tensors with the dims of tensor, one of them may
 * be NULL: values of its dtype gets the elements, indices of I64 where each of them was along the axis. Any dtype. values
 * may be tensor.
 * Errors: INVALID_ARGUMENT (axis; descending not 0 or 1; both results NULL). */
HEED_API heed_status heed_sort(const heed_tensor* tensor, int32_t axis, int32_t descending, heed_tensor* values,
                               heed_tensor* indices) HEED_NOEXCEPT;

/* The k largest elements along an axis, the largest first, or with largest 0 the k smallest, the smallest first: the first k
 * of heed_sort. k is the dim of values and indices on the axis, at most that of tensor; the other dims are those of tensor.
 * Errors: as heed_sort; INVALID_ARGUMENT (largest not 0 or 1; k larger than tensor's dim). */
HEED_API heed_status heed_top_k(const heed_tensor* tensor, int32_t axis, int32_t largest, heed_tensor* values,
                                heed_tensor* indices) HEED_NOEXCEPT;

/* Takes one element for each index, as NumPy's take_along_axis and PyTorch's gather: result[i, j, k] = tensor[i,
 * indices[i, j, k], k] for the middle axis of three. indices is I32 or I64 and has the dims of tensor except on the axis;
 * those of the other axes may be 1, which are repeated. Negative indices count from the end. result has the dims of tensor
 * with those of indices on the axis, and tensor's dtype, of any kind.
 * Errors: INVALID_ARGUMENT (axis; an index out of range, naming where it is, unless result has no elements). */
HEED_API heed_status heed_gather(const heed_tensor* tensor, const heed_tensor* indices, int32_t axis,
                                 heed_tensor* result) HEED_NOEXCEPT;

/* Takes whole slices, as NumPy's take: result[i, j.., k] = tensor[i, indices[j..], k] for the middle axis of three. indices
 * is I32 or I64 of any rank; its dims stand in result in the place of the axis. Negative indices count from the end. result
 * has tensor's dtype, of any kind.
 * Errors: as heed_gather. */
HEED_API heed_status heed_take(const heed_tensor* tensor, const heed_tensor* indices, int32_t axis,
                               heed_tensor* result) HEED_NOEXCEPT;

/* Joins num_tensors tensors, at least 1, along an axis. They have the same dims on the other axes, and one dtype, of any kind,
 * which is result's too; result's dim on the axis is the sum of theirs.
 * Errors: INVALID_ARGUMENT (num_tensors; axis; a tensor whose rank, dims or dtype differ, by its number). */
HEED_API heed_status heed_concatenate(const heed_tensor* const* tensors, int64_t num_tensors, int32_t axis,
                                      heed_tensor* result) HEED_NOEXCEPT;

/* ==== 7. Training ================================================================================================= */

/* Training computes in F32, with parameters of F32 (heed_load_options.widen). docs/training.md is the guide. A training step is
 * gradients (7.1), perhaps added up over several sets and clipped, and heed_optimizer_step (7.3). */

/* ---- 7.1 Gradients ----------------------------------------------------------------------------------------------- */

/* Says whether training changes parameters: those whose names are prefix, or begin with prefix and a dot, such as
 * "layers.0.feed_forward"; NULL or "": all of the layer. All parameters are trainable at first. The layer shares this, like the
 * values, with the layer that it is a child of and with its own children. trainable is 1 or 0. A set of gradients that was made
 * before does not fit any more. While it runs no other thread may use the layer.
 * Errors: NOT_FOUND (no parameter has the prefix), INVALID_ARGUMENT (trainable). */
HEED_API heed_status heed_layer_set_trainable(heed_layer* layer, const char* prefix, int32_t trainable) HEED_NOEXCEPT;

/* The gradients of a layer's trainable parameters: for each a tensor of F32 with the parameter's dims, row-major, in the context's
 * memory, with the parameter's name, in the order of heed_layer_parameter_name. Or the gradient of one tensor that belongs to no layer,
 * as a parameter of the program's own.
 *   made by   heed_gradients_create, heed_gradients_create_of_tensor
 *   used by   the functions below, heed_layer_backward, heed_optimizer_step and heed_optimizer_step_parts
 *   freed by  heed_gradients_destroy; views of its tensors keep their memory
 *   threads   many may read it at once; while one changes it, no other may use it
 * A defect of the caller's executor (6.1) is reported by _zero, _scale and _add after all gradients are changed, and by _clip before
 * the first or after the last. */
typedef struct heed_gradients heed_gradients;

/* Makes a set of zeros for the trainable parameters of a layer, which must all be set. The set belongs to this very layer: a layer
 * that has it as a child, or one of its children, is another one, although they share parameters. It does not keep the layer alive.
 * Errors: NOT_INITIALIZED (a parameter is not set), UNSUPPORTED (a trainable parameter is not F32: load it with widen, or exclude it
 * with heed_layer_set_trainable). */
HEED_API heed_status heed_gradients_create(const heed_layer* layer, heed_gradients** gradients) HEED_NOEXCEPT;

/* Makes a set of one gradient, of zeros with the dims of value: of a tensor of F32 that belongs to no layer, row-major and writable, in
 * memory of heed or of the caller (heed_tensor_wrap). name is the gradient's: UTF-8, not empty, without a line feed. The set shares the
 * tensor's memory, which it keeps alive and a step (heed_optimizer_step_parts) changes in place; the handle value may be destroyed.
 * The functions below take the set; heed_layer_backward and heed_optimizer_step refuse it, since it is not that of a layer.
 * Errors: INVALID_ARGUMENT (value is not F32, not row-major, read-only or without data; name is empty, not UTF-8 or has a line feed). */
HEED_API heed_status heed_gradients_create_of_tensor(heed_tensor* value, const char* name,
                                                     heed_gradients** gradients) HEED_NOEXCEPT;

/* NULL is allowed. */
HEED_API void heed_gradients_destroy(heed_gradients* gradients) HEED_NOEXCEPT;

/* How many gradients there are; -1 for NULL. */
HEED_API int64_t heed_gradients_count(const heed_gradients* gradients) HEED_NOEXCEPT;

/* The name of a gradient's parameter, or that of the tensor; valid while the set lives. NULL for a bad handle or index. */
HEED_API const char* heed_gradients_name(const heed_gradients* gradients, int64_t index) HEED_NOEXCEPT;

/* The gradient of the parameter of that name, as a view that shares the set's memory and may be written. The caller destroys *view.
 * Errors: NOT_FOUND (name). */
HEED_API heed_status heed_gradients_tensor(heed_gradients* gradients, const char* name,
                                           heed_tensor** view) HEED_NOEXCEPT;

/* Sets all gradients to 0. */
HEED_API heed_status heed_gradients_zero(heed_gradients* gradients) HEED_NOEXCEPT;

/* Multiplies all gradients by factor, in double, and rounds each once.
 * Errors: INVALID_ARGUMENT (a factor that is not finite). */
HEED_API heed_status heed_gradients_scale(heed_gradients* gradients, double factor) HEED_NOEXCEPT;

/* Adds each gradient of addend to that of sum, in F32. The sets have the same names and dims, and are on the same device; they may be
 * of different layers, as of two copies of a model.
 * Errors: INVALID_ARGUMENT (the sets differ in the number, the names or the dims of their gradients, or are on different devices). */
HEED_API heed_status heed_gradients_add(heed_gradients* sum, const heed_gradients* addend) HEED_NOEXCEPT;

/* Writes the Euclidean norm of all gradients of num_sets sets (at least 1) together to *norm: the root of the sum of squares in
 * double, in a fixed order, so that any number of threads gives the same bits. It is infinite or NaN if a gradient is.
 * Errors: INVALID_ARGUMENT (num_sets; a set that is there twice; sets on several devices). */
HEED_API heed_status heed_gradients_norm(heed_gradients* const* sets, int64_t num_sets, double* norm) HEED_NOEXCEPT;

/* Multiplies all gradients of all sets by min(1, max_norm / (norm + 1e-6)), the factor of PyTorch's clip_grad_norm_, with which a
 * norm of max_norm is lessened too. Writes the norm before to *norm; norm may be NULL. max_norm is at least 0, and may be infinite.
 * Errors: as heed_gradients_norm; INVALID_ARGUMENT (max_norm; a gradient that is not finite, naming where it is: PyTorch would make 0
 * of finite gradients). Nothing is changed then. */
HEED_API heed_status heed_gradients_clip(heed_gradients* const* sets, int64_t num_sets, double max_norm,
                                         double* norm) HEED_NOEXCEPT;

/* ---- 7.2 Losses -------------------------------------------------------------------------------------------------- */

/* How the losses of rows, or of elements, become total, and what the gradient is of. An item is one index of the first axis. */
typedef enum heed_loss_reduction HEED_INT32 {
  HEED_LOSS_MEAN = 0,         /* their sum by the number of those that count: PyTorch's "mean" */
  HEED_LOSS_SUM = 1,          /* their sum */
  HEED_LOSS_MEAN_OF_ITEMS = 2 /* the sum over items of the mean over all of an item, also those that do not count: the masked
                                 loss of DJL and of d2l's Python books, whose vector of items is summed by backward */
} heed_loss_reduction;

/* Options of heed_cross_entropy. Every number is as written, 0 too: defaults are the macro's alone. */
typedef struct heed_cross_entropy_options {
  size_t struct_size;
  int64_t ignore_index;  /* rows with this label do not count; may be any number. The macro has -100, as PyTorch */
  float label_smoothing; /* from 0 to 1: this share of the target is spread evenly over all classes */
  int32_t reduction;     /* HEED_LOSS_... */
} heed_cross_entropy_options;
#define HEED_CROSS_ENTROPY_OPTIONS_INIT { sizeof(heed_cross_entropy_options), -100, 0.0f, HEED_LOSS_MEAN }

/* The cross-entropy of logits, (B, S, C) or (N, C) of F32, and labels, (B, S) or (N) of I32 or I64, with its gradient
 * (docs/semantics.md, "Losses"):
 *   losses[b, s] = log sum over c of exp(logits[b, s, c]) - (1 - smoothing) * logits[b, s, label] - smoothing * mean of logits[b, s]
 * as PyTorch's cross_entropy. A row counts if s is less than valid_lens[b] and its label is not ignore_index. Of other rows logits are
 * not read, and losses and gradient are 0; of rows beyond the length labels are not read either. If no row counts, total and gradient
 * are 0, where PyTorch's mean is NaN.
 *   valid_lens       (B) of F32, I32 or I64, each from 0 to S; NULL: S. Only of logits (B, S, C)
 *   options          NULL: the macro's values
 *   losses           the dims of labels, F32; NULL: not wanted
 *   total            by options->reduction, added up in double in the order of rows; NULL: not wanted
 *   logits_gradient  of total with respect to the logits, their dims, F32; may be logits itself, whose elements are then
 *                    replaced; NULL: not wanted
 * At least one of the three is given. A logit of -inf has probability 0; as the target, or with smoothing s, the loss of its row is
 * infinite. Its gradient is -f s / C, and as the target -f (1 - s + s / C), with the factor f of the reduction.
 * A row with NaN or +inf, or of -inf alone, has a loss and gradients of NaN. Losses that are not finite are results, not errors: total
 * is that number. The order of sums depends on C alone, so that any number of threads gives the same bits.
 * Errors: INVALID_ARGUMENT (rank, dims or dtypes; a label out of range, naming where it is; a length; an option; valid_lens with logits
 * (N, C); results that share memory, except logits_gradient with logits). Nothing is written then. */
HEED_API heed_status heed_cross_entropy(const heed_tensor* logits, const heed_tensor* labels,
                                        const heed_tensor* valid_lens, const heed_cross_entropy_options* options,
                                        heed_tensor* losses, double* total,
                                        heed_tensor* logits_gradient) HEED_NOEXCEPT;

/* Options of heed_squared_error. Every number is as written, 0 too: defaults are the macro's alone. */
typedef struct heed_squared_error_options {
  size_t struct_size;
  double factor;     /* of each square. The macro has 1, as PyTorch's MSELoss; 0.5 is DJL's l2Loss */
  int32_t reduction; /* HEED_LOSS_... */
  int32_t reserved;
} heed_squared_error_options;
#define HEED_SQUARED_ERROR_OPTIONS_INIT { sizeof(heed_squared_error_options), 1.0, HEED_LOSS_MEAN, 0 }

/* The squared error of predictions and targets, of F32 with the same dims, with its gradient: losses = factor * (predictions -
 * targets)^2, element by element, computed in double and rounded once. It is the loss of least squares, also called L2 loss.
 *   options               NULL: the macro's values
 *   losses                the dims of predictions, F32; NULL: not wanted
 *   total                 by options->reduction, added up in double in a fixed order; 0 without elements; NULL: not wanted
 *   predictions_gradient  of total with respect to the predictions, F32; may be predictions or targets itself; NULL: not wanted.
 *                         The gradient with respect to the targets is its negative
 * At least one of the three is given. Losses that are not finite are results, not errors.
 * Errors: INVALID_ARGUMENT (dims or dtypes; an option; a rank of 0 with HEED_LOSS_MEAN_OF_ITEMS; results that share memory). */
HEED_API heed_status heed_squared_error(const heed_tensor* predictions, const heed_tensor* targets,
                                        const heed_squared_error_options* options, heed_tensor* losses, double* total,
                                        heed_tensor* predictions_gradient) HEED_NOEXCEPT;

/* ---- 7.3 Optimizers ---------------------------------------------------------------------------------------------- */

/* Changes parameters by their gradients: those of one layer, or of several layers and tensors together (heed_optimizer_step_parts), as a
 * model has them that is composed by the program. In the options of optimizers every number is as written, 0 too: defaults
 * are the macro's alone. All are finite in F32, up to 3.4e38. Schedules of learning rates are the caller's
 * (heed_optimizer_set_learning_rate).
 *   made by   heed_sgd_create, heed_adamw_create
 *   used by   heed_optimizer_step, heed_optimizer_step_parts, and the functions below
 *   freed by  heed_optimizer_destroy
 *   threads   one at a time */
typedef struct heed_optimizer heed_optimizer;

/* Stochastic gradient descent, as PyTorch's SGD without dampening:
 *   g = gradient + weight_decay * p;  b = momentum * b + g;  p = p - learning_rate * (nesterov ? g + momentum * b : b)
 * with b = 0 before the first step. All numbers are at least 0. */
typedef struct heed_sgd_options {
  size_t struct_size;
  double learning_rate;
  double momentum;     /* 0: none, and no memory for b */
  double weight_decay;
  int32_t nesterov;    /* 1: with a momentum above 0 */
  int32_t reserved;
} heed_sgd_options;
#define HEED_SGD_OPTIONS_INIT { sizeof(heed_sgd_options), 1e-3, 0.0, 0.0, 0, 0 }

/* Where epsilon is added. */
typedef enum heed_epsilon_placement HEED_INT32 {
  HEED_EPSILON_CORRECTED = 0,  /* to the root of the second moment after its bias is corrected: PyTorch, and the papers */
  HEED_EPSILON_UNCORRECTED = 1 /* before: DJL. Gradients near epsilon and below give other steps */
} heed_epsilon_placement;

/* AdamW (Loshchilov and Hutter, 2019) and Adam (Kingma and Ba, 2015), in step t = 1, 2, ... of a parameter:
 *   g = gradient, of Adam plus weight_decay * p;  m = m + (1 - beta1) * (g - m);  v = beta2 * v + (1 - beta2) * g^2
 *   p = p - learning_rate * (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon), of AdamW plus weight_decay * p)
 * with m = v = 0 before the first step. A quotient by 0 counts as 0. betas are at least 0 and below 1; the other numbers are at least
 * 0. It is computed in F32, as by PyTorch, and holds for gradients of magnitudes from about 1e-17, where epsilon does not hide them,
 * to 1e19: the square of a smaller one loses digits or is 0, that of a larger one is infinite, and the parameter then changes by
 * its decay alone; with gradients above 1e38 of both signs it becomes NaN, as PyTorch's. */
typedef struct heed_adamw_options {
  size_t struct_size;
  double learning_rate;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
  int32_t coupled_decay;     /* 1: Adam, the decay is added to the gradient */
  int32_t epsilon_placement; /* HEED_EPSILON_... */
} heed_adamw_options;
#define HEED_ADAMW_OPTIONS_INIT { sizeof(heed_adamw_options), 1e-3, 0.9, 0.999, 1e-8, 1e-2, 0, HEED_EPSILON_CORRECTED }

/* Makes an optimizer; options NULL: the macro's values, which are PyTorch's defaults. The caller destroys *optimizer.
 * Errors: INVALID_ARGUMENT (an option out of range). */
HEED_API heed_status heed_sgd_create(heed_context* context, const heed_sgd_options* options,
                                     heed_optimizer** optimizer) HEED_NOEXCEPT;
HEED_API heed_status heed_adamw_create(heed_context* context, const heed_adamw_options* options,
                                       heed_optimizer** optimizer) HEED_NOEXCEPT;

/* NULL is allowed. */
HEED_API void heed_optimizer_destroy(heed_optimizer* optimizer) HEED_NOEXCEPT;

/* One step: changes each parameter that has a gradient, on the context's threads; any number of them, and any instruction set,
 * gives the same bits. gradients are a set of this layer, whose trainable parameters are still the same; they are not changed. The first
 * step ties the optimizer to the layer. State is made at the first step of a parameter: a float for each element for momentum, two for
 * Adam. Parameters are written in place, also where a weight is kept packed alone; where a snapshot (heed_layer_parameter) shares the
 * memory, the parameter gets new memory, and the snapshot keeps its values. On an NPU the host computes the step on copies. While it
 * runs no other thread may use the layer or the gradients.
 * All checks and allocations come before the first number is written, so that a step that fails changes nothing. A defect of the
 * caller's executor (6.1) in the loop over the numbers is reported after the step is done.
 * Errors: INVALID_ARGUMENT (gradients of another layer, or made when other parameters were trainable; a gradient that is not finite,
 * naming where it is: PyTorch would make NaN of the parameter; another context; another layer than in the steps before; a state
 * that was loaded with other dims; a learning rate that is not finite in F32 times the group's factor, by 1 - beta1^t, or times the
 * weight decay), NOT_FOUND (a group without a parameter; a loaded state of a parameter that the layer lacks). */
HEED_API heed_status heed_optimizer_step(heed_optimizer* optimizer, heed_layer* layer,
                                         const heed_gradients* gradients) HEED_NOEXCEPT;

/* What one step changes together with other parts: the parameters of a layer, or a tensor. */
typedef struct heed_step_part {
  size_t struct_size;
  const char* prefix;              /* stands before the names of the part's parameters; NULL: "". UTF-8 without a line feed */
  heed_layer* layer;               /* the layer of gradients; NULL: they are of a tensor (heed_gradients_create_of_tensor) */
  const heed_gradients* gradients; /* required */
} heed_step_part;
#define HEED_STEP_PART_INIT { sizeof(heed_step_part), NULL, NULL, NULL }

/* One step of num_parts parts (at least 1) together: what heed_optimizer_step says holds for each, also the bits, and a step that fails
 * changes nothing of any part. heed_optimizer_step is a step of one part without a prefix.
 * The full name of a parameter is the part's prefix, which may end with a dot or an underscore, and its name in the layer or that of the
 * tensor's gradient: "encoder." and "W_q.weight" make "encoder.W_q.weight". State, files and groups know parameters by it.
 * A step ties the optimizer to its parts: a layer to its prefix, and a tensor's memory to its full name. Later steps may have more parts,
 * or lack some, whose state stays; but a prefix or a name keeps its layer or tensor, and these keep theirs, also after they are gone. A
 * set of a layer may have no gradients, if nothing of it is trainable. After heed_optimizer_load nothing is tied, and the first step has
 * all parts that have a state.
 * On an NPU the tensors are written after everything else; a device that fails then leaves some of them changed.
 * Errors: as heed_optimizer_step, for each part; INVALID_ARGUMENT (num_parts; layer NULL with gradients of a layer; a prefix that is
 * not UTF-8 or has a line feed; a set, a layer, or a parameter that a layer shares with its child there twice; tensors that share
 * memory; two parameters of the same full name; a prefix or a name of another layer or tensor than in the steps before, and another
 * prefix or name of the same one), NOT_FOUND (a group without a parameter, a loaded state of a parameter, that no part has). */
HEED_API heed_status heed_optimizer_step_parts(heed_optimizer* optimizer, const heed_step_part* const* parts,
                                               int64_t num_parts) HEED_NOEXCEPT;

/* Sets the learning rate of the steps that follow.
 * Errors: INVALID_ARGUMENT (not a number of at least 0 that is finite in F32). */
HEED_API heed_status heed_optimizer_set_learning_rate(heed_optimizer* optimizer, double learning_rate) HEED_NOEXCEPT;

/* What a group of parameters has instead of the optimizer's numbers. Every number is as written, 0 too. */
typedef struct heed_parameter_group {
  size_t struct_size;
  double learning_rate_factor; /* times the optimizer's learning rate */
  double weight_decay;         /* in the place of the optimizer's */
} heed_parameter_group;
#define HEED_PARAMETER_GROUP_INIT { sizeof(heed_parameter_group), 1.0, 0.0 }

/* Makes the parameters whose full names are prefix, or begin with prefix and a dot, a group; a second call with that prefix replaces its
 * numbers. The prefix of a part (heed_step_part), also without "." or "_" at its end, is that of all its parameters. Of several groups that a parameter is in, that of the longest prefix counts. prefix NULL or "": all parameters. group
 * NULL: removes the group of that prefix.
 * Errors: INVALID_ARGUMENT (group has a number out of range; a line feed in prefix), NOT_FOUND (group NULL, and no group of that
 * prefix; no parameter of the steps so far has the prefix: before the first step there is none, and the step finds it). */
HEED_API heed_status heed_optimizer_set_group(heed_optimizer* optimizer, const char* prefix,
                                              const heed_parameter_group* group) HEED_NOEXCEPT;

/* Writes everything of the optimizer to a .safetensors file: options, groups, and of each parameter the number of its steps and its
 * state. docs/training.md lists the tensors. The file is replaced as a whole.
 * Errors: IO. */
HEED_API heed_status heed_optimizer_save(const heed_optimizer* optimizer, const char* path) HEED_NOEXCEPT;

/* Takes everything from a file of heed_optimizer_save: options, groups and state, so that training goes on with the same bits. The
 * next step, of any layers and tensors with parameters of these names and dims, ties the optimizer to them. On failure nothing is
 * changed.
 * Errors: INVALID_ARGUMENT (a file of the other kind of optimizer), IO, CORRUPT_FILE (also a number out of range, and a tensor of a
 * state or of groups without the one that it belongs to), NOT_FOUND (another tensor is missing). */
HEED_API heed_status heed_optimizer_load(heed_optimizer* optimizer, const char* path) HEED_NOEXCEPT;

/* ---- 7.4 Backward ------------------------------------------------------------------------------------------------ */

/* heed_saved: what a forward keeps for the backward of the same call, the arrays between the operations of the layer.
 *   made by   heed_saved_create, with the size that heed_layer_saved_size says
 *   used by   heed_layer_forward, which fills it, and heed_layer_backward, which reads it, as outputs->saved: one call at a
 *             time, a second one at the same time is refused (BUSY). It may be filled again and again
 *   freed by  heed_saved_destroy, in any order with the layer
 * A backward of another call is refused: of another layer, other shapes, other lengths, whole numbers or attention_mask, another
 * dropout_seed. That rows in floating point, masks and biases hold what they held is for the caller to keep. */

/* The number of bytes of a heed_saved for a call of the layer with these inputs (only shapes and dtypes are read).
 * Errors: as heed_layer_backward. */
HEED_API heed_status heed_layer_saved_size(const heed_layer* layer, const heed_layer_inputs* inputs,
                                           size_t* num_bytes) HEED_NOEXCEPT;

/* Makes an empty heed_saved of num_bytes, which may be 0, in the context's memory. The caller destroys *saved.
 * Errors: OUT_OF_MEMORY. */
HEED_API heed_status heed_saved_create(heed_context* context, size_t num_bytes, heed_saved** saved) HEED_NOEXCEPT;

/* Drops the caller's reference. NULL is allowed. A call in flight keeps the memory alive. */
HEED_API void heed_saved_destroy(heed_saved* saved) HEED_NOEXCEPT;

/* The gradients of a loss: `output` is read, the others are written. NULL: not wanted. All are F32 of any positive strides, each
 * with the dims of what it is the gradient of, and each with memory of its own. */
typedef struct heed_layer_gradients {
  size_t struct_size;
  const heed_tensor* output;   /* required: the gradient by the output, with its dims. Rows that are padding are not read */
  heed_tensor* queries;        /* of inputs->queries; without keys also of its roles as keys and values: their sum */
  heed_tensor* keys;           /* of inputs->keys; without values also of its role as values. NULL if inputs has no keys */
  heed_tensor* values;         /* of inputs->values; NULL if inputs has none */
  heed_tensor* bias;           /* of inputs->bias: where an axis of it has size 1, the sum over what it is repeated for */
  heed_tensor* alibi_slopes;   /* of inputs->alibi_slopes, (H) */
  heed_tensor* sinks;          /* of inputs->sinks, (H) */
  heed_tensor* self_bias;      /* of inputs->decoder->self_bias, as bias */
  heed_tensor* memory;         /* of inputs->decoder->memory */
  heed_gradients* parameters;  /* made by heed_gradients_create of this layer; parameters that the call does not use get 0 */
  int32_t accumulate;          /* 0: gradients are replaced; 1: they are added to what the tensors hold */
  int32_t reserved;            /* 0 */
} heed_layer_gradients;
#define HEED_LAYER_GRADIENTS_INIT \
  { sizeof(heed_layer_gradients), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0 }

/* The number of bytes of workspace that heed_layer_backward of these arguments needs (only shapes and dtypes are read).
 * outputs NULL, or without saved: with what the forward computes.
 * Errors: as heed_layer_backward. */
HEED_API heed_status heed_layer_backward_workspace_size(const heed_layer* layer, const heed_layer_inputs* inputs,
                                                        const heed_layer_outputs* outputs,
                                                        const heed_layer_gradients* gradients,
                                                        size_t* num_bytes) HEED_NOEXCEPT;

/* Computes the gradients of a loss by the inputs and the parameters of a call from that by its output, in F32 (Rumelhart,
 * Hinton, Williams, "Learning representations by back-propagating errors", Nature 323, 1986; of attention in memory that is
 * linear in the sequence, Dao, "FlashAttention-2", arXiv 2307.08691). inputs are those of the forward, with its training and
 * dropout_seed: what dropout drops is drawn again. Of outputs only saved is read; the others may be NULL, and where they are
 * given their dims are checked. outputs NULL, or without saved: the forward is computed again, as activation checkpointing does,
 * with the same bits in the gradients.
 *
 * Each gradient is a sum in an order that only the shapes decide: any number of threads gives the same bits. Gradients by the
 * parameters begin with what their tensors hold if accumulate is 1, and add the rows in order: so with one parameter used once, a
 * batch in parts, one after another, gives the bits of the whole batch, if the loss is a sum and nothing is dropped. A hidden pair
 * takes part in nothing. A row whose gradient by the output is all 0 adds nothing, whatever its inputs hold, NaN too. Queries
 * without a visible key have gradients of 0 (with HEED_EMPTY_ROWS_MEAN the values get their shares). Rule 19 of
 * docs/semantics.md has the formulas.
 *
 * May be called from many threads on one layer, with tensors, gradients and saved of their own. With a workspace nothing is
 * allocated (on the CPU), but by the first backward of the layer after its parameters got their values, which packs the weights a
 * second time. workspace NULL: one from the context's pool.
 * Errors: as heed_layer_forward; INVALID_ARGUMENT (output NULL; dims, dtype, memory of a gradient; a gradient of an input that is
 * not given or of whole numbers; gradients of another layer; saved that is empty, of another call, or whose parameters have
 * changed since), UNSUPPORTED (a cache; taps; inputs in 16 bits; a gradient of a bias with an attention_mask that hides rows
 * before visible ones), WORKSPACE_TOO_SMALL (also for saved), BUSY (the workspace or saved). On failure gradients are undefined if
 * the call failed while it computed, otherwise unchanged. */
HEED_API heed_status heed_layer_backward(const heed_layer* layer, const heed_layer_inputs* inputs,
                                         const heed_layer_outputs* outputs, heed_workspace* workspace,
                                         const heed_layer_gradients* gradients) HEED_NOEXCEPT;

/* What heed_layer_backward of these arguments would do, as heed_layer_explain has it (a text result).
 * Errors: as heed_layer_backward. */
HEED_API heed_status heed_layer_explain_backward(const heed_layer* layer, const heed_layer_inputs* inputs,
                                                 const heed_layer_outputs* outputs,
                                                 const heed_layer_gradients* gradients, char* text, size_t capacity,
                                                 size_t* num_bytes) HEED_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* HEED_HEED_H */
