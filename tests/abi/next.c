/* SPDX-License-Identifier: Apache-2.0 */
/* The C contract of what comes after 0.1, as a program like contract.c. It compiles with -DSTAGE=n exactly when the header has all names up to stage n:
 * 1 edges, 2 merge and ALiBi, 3 positions and caches (-DWITHOUT_CACHES leaves the latter out), 4 blocks and arrays (-DWITHOUT_ARRAYS likewise), 5 training, 6 heads. Order of members, further members and functions, and
 * the documentation are the project's. What is not named here is the project's to name, in the same style. */
#include <heed/heed.h>

#ifndef STAGE
#define STAGE 6
#endif
#define TYPE_OF(type, expression) _Static_assert(_Generic((expression), type: 1, default: 0), #expression " must have type " #type)
#define VALUE(name, value) _Static_assert((name) == (value), #name " must be " #value)
#define MEMBER(type, structure, member) TYPE_OF(type, ((structure*)0)->member)
#define FUNCTION(result, name, ...) result (*const contract_##name)(__VA_ARGS__) = name; extern result (*const contract_##name)(__VA_ARGS__)
#define INITIALISER(structure, macro) const structure contract_of_##structure = macro; extern const structure contract_of_##structure

#if STAGE >= 1 /* ---- edges ---- */
FUNCTION(heed_status, heed_context_trim, heed_context*);                          /* unused scratch of the pool goes back */
FUNCTION(heed_status, heed_tensor_create_from, heed_context*, heed_dtype, int32_t rank, const int64_t* dims, const void* data, heed_tensor**);
FUNCTION(heed_status, heed_scaled_dot_product_attention, heed_context*, const heed_dot_product_attention_options*, const heed_layer_inputs*,
         const heed_layer_outputs*);                                              /* one call, no layer, scratch from the pool */
#endif

#if STAGE >= 2 /* ---- merge, ALiBi ---- */
/* Parts of one attention over disjoint keys: outputs (..., Q, Dv) and log_sum_exps (..., Q), natural logarithms; sinks (H) or NULL, counted once here. */
FUNCTION(heed_status, heed_attention_merge, const heed_tensor* const* outputs, const heed_tensor* const* log_sum_exps, int64_t num_parts,
         const heed_tensor* sinks, heed_tensor* output, heed_tensor* log_sum_exp);
MEMBER(const heed_tensor*, heed_layer_inputs, alibi_slopes);                      /* (H), F32; NULL: none */
FUNCTION(heed_status, heed_tensor_fill_alibi_slopes, heed_tensor*);               /* (H) */
#endif

#if STAGE >= 3 /* ---- caches and positions ---- */
#ifndef WITHOUT_CACHES
VALUE(HEED_CACHE_CONTIGUOUS, 0); VALUE(HEED_CACHE_RING, 1); VALUE(HEED_CACHE_PAGED, 2);
VALUE(HEED_CACHE_APPEND, 0);     VALUE(HEED_CACHE_READ, 1);
#endif
VALUE(HEED_ROPE_HALF, 1);        VALUE(HEED_ROPE_INTERLEAVED, 2);                 /* 0 is refused: a pairing is always named */
VALUE(HEED_ROPE_SCALING_NONE, 0); VALUE(HEED_ROPE_SCALING_LINEAR, 1); VALUE(HEED_ROPE_SCALING_NTK, 2); VALUE(HEED_ROPE_SCALING_YARN, 3);
VALUE(HEED_ROPE_SCALING_LLAMA3, 4); VALUE(HEED_ROPE_SCALING_FACTORS, 5);

#ifndef WITHOUT_CACHES
MEMBER(int64_t, heed_cache_options, num_layers);     MEMBER(int64_t, heed_cache_options, max_sequences);   MEMBER(int64_t, heed_cache_options, num_kv_heads);
MEMBER(int64_t, heed_cache_options, head_size);      MEMBER(int64_t, heed_cache_options, value_head_size); MEMBER(int64_t, heed_cache_options, capacity);
MEMBER(int64_t, heed_cache_options, num_sinks);      MEMBER(int64_t, heed_cache_options, page_size);       MEMBER(int64_t, heed_cache_options, num_pages);
MEMBER(int32_t, heed_cache_options, layout);         MEMBER(int32_t, heed_cache_options, dtype);           MEMBER(int32_t, heed_cache_options, unrotated_keys);
INITIALISER(heed_cache_options, HEED_CACHE_OPTIONS_INIT);
FUNCTION(heed_status, heed_cache_size, const heed_cache_options*, size_t* num_bytes);
FUNCTION(heed_status, heed_cache_create, heed_context*, const heed_cache_options*, heed_cache**);
FUNCTION(void, heed_cache_destroy, heed_cache*);
FUNCTION(int64_t, heed_cache_length, const heed_cache*, int64_t sequence);
FUNCTION(int64_t, heed_cache_first, const heed_cache*, int64_t sequence);         /* oldest position kept after the sinks */
FUNCTION(int64_t, heed_cache_free_pages, const heed_cache*);
FUNCTION(heed_status, heed_cache_reserve, heed_cache*, int64_t sequence, int64_t length);
FUNCTION(heed_status, heed_cache_rewind, heed_cache*, int64_t sequence, int64_t length);
FUNCTION(heed_status, heed_cache_fork, heed_cache*, int64_t from, int64_t length, int64_t to);
FUNCTION(heed_status, heed_cache_reorder, heed_cache*, const int64_t* sources, int64_t num_sources);
FUNCTION(heed_status, heed_cache_accept, heed_cache*, int64_t sequence, int64_t from, const int64_t* kept, int64_t num_kept);
FUNCTION(heed_status, heed_cache_discard, heed_cache*, int64_t sequence, int64_t first, int64_t num_positions, int32_t renumber);
FUNCTION(heed_status, heed_cache_read, const heed_cache*, int64_t layer, int64_t sequence, heed_tensor* keys, heed_tensor* values); /* (Hkv, T, D) */
FUNCTION(heed_status, heed_cache_save, const heed_cache*, int64_t sequence, const char* path);
FUNCTION(heed_status, heed_cache_load, heed_cache*, int64_t sequence, const char* path);
FUNCTION(heed_status, heed_layer_fill_cache, const heed_layer*, const heed_layer_inputs*, heed_workspace*);

/* What one call does with a cache; a pointer in heed_layer_inputs, NULL: none. */
MEMBER(heed_cache*, heed_cache_inputs, cache);       MEMBER(const heed_tensor*, heed_cache_inputs, sequences); /* (B) I32 / I64; NULL: 0 to B-1 */
MEMBER(int64_t, heed_cache_inputs, layer);           MEMBER(int32_t, heed_cache_inputs, use);
INITIALISER(heed_cache_inputs, HEED_CACHE_INPUTS_INIT);
MEMBER(const heed_cache_inputs*, heed_layer_inputs, cache);
#endif
/* Where rows are, and which of them count; a pointer likewise. */
MEMBER(const heed_tensor*, heed_sequence_inputs, positions);      /* (B, Q) or (total); NULL: continue */
MEMBER(const heed_tensor*, heed_sequence_inputs, query_lens);     /* (B): later rows are not appended, their output is 0 */
MEMBER(const heed_tensor*, heed_sequence_inputs, query_offsets);  /* (B + 1): queries are (total, E) */
MEMBER(const heed_tensor*, heed_sequence_inputs, key_offsets);
INITIALISER(heed_sequence_inputs, HEED_SEQUENCE_INPUTS_INIT);
MEMBER(const heed_sequence_inputs*, heed_layer_inputs, sequences);

MEMBER(int64_t, heed_rope_options, rotary_size);     MEMBER(int64_t, heed_rope_options, rotary_offset);    MEMBER(int64_t, heed_rope_options, original_length);
MEMBER(int64_t, heed_rope_options, num_factors);     MEMBER(const float*, heed_rope_options, factors);     MEMBER(float, heed_rope_options, base);
MEMBER(float, heed_rope_options, factor);            MEMBER(float, heed_rope_options, beta_fast);          MEMBER(float, heed_rope_options, beta_slow);
MEMBER(float, heed_rope_options, low_freq_factor);   MEMBER(float, heed_rope_options, high_freq_factor);   MEMBER(float, heed_rope_options, attention_factor);
MEMBER(int32_t, heed_rope_options, layout);          MEMBER(int32_t, heed_rope_options, scaling);          MEMBER(int32_t, heed_rope_options, no_rounding);
INITIALISER(heed_rope_options, HEED_ROPE_OPTIONS_INIT);
MEMBER(const heed_rope_options*, heed_multi_head_attention_options, rope);        /* NULL: none */
MEMBER(int32_t, heed_multi_head_attention_options, sinks);                        /* 1: parameter "sinks" (num_heads) */
MEMBER(float, heed_multi_head_attention_options, qk_norm_epsilon);                /* above 0: norm of each head of q and k, parameters q_norm.weight, k_norm.weight */
MEMBER(int32_t, heed_multi_head_attention_options, qk_norm);                      /* 0: RMS, one weight (D) for all heads; 1: layer norm, a weight (H, D), as Cohere's */

MEMBER(int64_t, heed_positional_encoding_options, max_positions);                 /* learned tables; sinusoidal: what is precomputed */
MEMBER(int64_t, heed_positional_encoding_options, size);
MEMBER(float, heed_positional_encoding_options, dropout);
MEMBER(int32_t, heed_positional_encoding_options, kind);
VALUE(HEED_POSITIONS_SINUSOIDAL, 0); VALUE(HEED_POSITIONS_SINUSOIDAL_HALVES, 1); VALUE(HEED_POSITIONS_LEARNED, 2); /* halves: divisor d/2 - 1, as Whisper */
VALUE(HEED_POSITIONS_SINUSOIDAL_HALVES_2I, 3);                                    /* halves with p / 10000^(2i/d), as Marian */
INITIALISER(heed_positional_encoding_options, HEED_POSITIONAL_ENCODING_OPTIONS_INIT);
FUNCTION(heed_status, heed_positional_encoding_create, heed_context*, const heed_positional_encoding_options*, heed_layer**); /* queries (B, S, size) + table */
#endif

#if STAGE >= 4 /* ---- blocks and arrays ---- */
VALUE(HEED_NORM_LAYER, 0); VALUE(HEED_NORM_RMS, 1);
VALUE(HEED_ACTIVATION_RELU, 0); VALUE(HEED_ACTIVATION_GELU, 1); VALUE(HEED_ACTIVATION_GELU_TANH, 2); VALUE(HEED_ACTIVATION_GELU_QUICK, 3); VALUE(HEED_ACTIVATION_SILU, 4);
MEMBER(float, heed_layer_norm_options, epsilon);     MEMBER(int32_t, heed_layer_norm_options, kind);       MEMBER(int32_t, heed_layer_norm_options, no_bias);
INITIALISER(heed_layer_norm_options, HEED_LAYER_NORM_OPTIONS_INIT);
MEMBER(int64_t, heed_feed_forward_options, hidden_size);      MEMBER(int64_t, heed_feed_forward_options, output_size);
MEMBER(int32_t, heed_feed_forward_options, activation);       MEMBER(int32_t, heed_feed_forward_options, gated);
MEMBER(int32_t, heed_feed_forward_options, no_bias);          MEMBER(float, heed_feed_forward_options, dropout);
INITIALISER(heed_feed_forward_options, HEED_FEED_FORWARD_OPTIONS_INIT);
MEMBER(int64_t, heed_embedding_options, num_embeddings);      MEMBER(int64_t, heed_embedding_options, embedding_size);
MEMBER(float, heed_embedding_options, scale);                 MEMBER(int64_t, heed_embedding_options, padding_index); /* macro: -1, none */
INITIALISER(heed_embedding_options, HEED_EMBEDDING_OPTIONS_INIT);
MEMBER(int64_t, heed_patch_embedding_options, patch_height);  MEMBER(int64_t, heed_patch_embedding_options, patch_width); /* 0: patch_height */
MEMBER(int64_t, heed_patch_embedding_options, num_channels);  MEMBER(int64_t, heed_patch_embedding_options, size);
MEMBER(int32_t, heed_patch_embedding_options, class_token);   MEMBER(int32_t, heed_patch_embedding_options, no_bias);
MEMBER(int64_t, heed_patch_embedding_options, image_height);  MEMBER(int64_t, heed_patch_embedding_options, image_width); /* 0: any */
INITIALISER(heed_patch_embedding_options, HEED_PATCH_EMBEDDING_OPTIONS_INIT);
MEMBER(int64_t, heed_audio_embedding_options, num_mels);      MEMBER(int64_t, heed_audio_embedding_options, size);
INITIALISER(heed_audio_embedding_options, HEED_AUDIO_EMBEDDING_OPTIONS_INIT);
MEMBER(const heed_multi_head_attention_options*, heed_encoder_layer_options, attention);
MEMBER(const heed_feed_forward_options*, heed_encoder_layer_options, feed_forward);
MEMBER(const heed_layer_norm_options*, heed_encoder_layer_options, norm);
MEMBER(int32_t, heed_encoder_layer_options, norm_first);      MEMBER(float, heed_encoder_layer_options, dropout);
INITIALISER(heed_encoder_layer_options, HEED_ENCODER_LAYER_OPTIONS_INIT);
MEMBER(const heed_multi_head_attention_options*, heed_decoder_layer_options, self_attention);
MEMBER(const heed_multi_head_attention_options*, heed_decoder_layer_options, cross_attention);   /* NULL: a decoder without encoder */
MEMBER(const heed_feed_forward_options*, heed_decoder_layer_options, feed_forward);
MEMBER(const heed_layer_norm_options*, heed_decoder_layer_options, norm);
MEMBER(int32_t, heed_decoder_layer_options, norm_first);      MEMBER(float, heed_decoder_layer_options, dropout);
INITIALISER(heed_decoder_layer_options, HEED_DECODER_LAYER_OPTIONS_INIT);
MEMBER(const heed_encoder_layer_options*, heed_encoder_options, layer);  MEMBER(int64_t, heed_encoder_options, num_layers); MEMBER(int32_t, heed_encoder_options, final_norm);
MEMBER(const heed_decoder_layer_options*, heed_decoder_options, layer);  MEMBER(int64_t, heed_decoder_options, num_layers); MEMBER(int32_t, heed_decoder_options, final_norm);
MEMBER(const heed_patch_embedding_options*, heed_encoder_options, patches);
MEMBER(const heed_audio_embedding_options*, heed_encoder_options, audio);
INITIALISER(heed_encoder_options, HEED_ENCODER_OPTIONS_INIT); INITIALISER(heed_decoder_options, HEED_DECODER_OPTIONS_INIT);
FUNCTION(heed_status, heed_layer_norm_create, heed_context*, const heed_layer_norm_options*, heed_layer**);
FUNCTION(heed_status, heed_feed_forward_create, heed_context*, const heed_feed_forward_options*, heed_layer**);
FUNCTION(heed_status, heed_embedding_create, heed_context*, const heed_embedding_options*, heed_layer**);
FUNCTION(heed_status, heed_patch_embedding_create, heed_context*, const heed_patch_embedding_options*, heed_layer**);
FUNCTION(heed_status, heed_audio_embedding_create, heed_context*, const heed_audio_embedding_options*, heed_layer**);
FUNCTION(heed_status, heed_encoder_layer_create, heed_context*, const heed_encoder_layer_options*, heed_layer**);
FUNCTION(heed_status, heed_decoder_layer_create, heed_context*, const heed_decoder_layer_options*, heed_layer**);
FUNCTION(heed_status, heed_encoder_create, heed_context*, const heed_encoder_options*, heed_layer**);
FUNCTION(heed_status, heed_decoder_create, heed_context*, const heed_decoder_options*, heed_layer**);
FUNCTION(int64_t, heed_layer_child_count, const heed_layer*);
FUNCTION(const char*, heed_layer_child_name, const heed_layer*, int64_t index);
FUNCTION(heed_status, heed_layer_child, const heed_layer*, const char* name, heed_layer** child); /* "layers.0.self_attention"; shares the parameters */
FUNCTION(heed_status, heed_layer_create_from_folder, heed_context*, const char* folder, heed_layer**); /* config.json and .safetensors of a known family: the whole model */
/* A decoder's self-attention; keys and valid_lens of heed_layer_inputs are the encoder's. */
MEMBER(const heed_tensor*, heed_decoder_inputs, self_valid_lens); MEMBER(const heed_tensor*, heed_decoder_inputs, self_mask); MEMBER(const heed_tensor*, heed_decoder_inputs, self_bias);
INITIALISER(heed_decoder_inputs, HEED_DECODER_INPUTS_INIT);
MEMBER(const heed_decoder_inputs*, heed_layer_inputs, decoder);

#ifndef WITHOUT_ARRAYS
FUNCTION(heed_status, heed_add, const heed_tensor* a, const heed_tensor* b, heed_tensor* sum);    /* broadcast; likewise: */
FUNCTION(heed_status, heed_subtract, const heed_tensor* a, const heed_tensor* b, heed_tensor* difference);
FUNCTION(heed_status, heed_multiply, const heed_tensor* a, const heed_tensor* b, heed_tensor* product);
FUNCTION(heed_status, heed_divide, const heed_tensor* a, const heed_tensor* b, heed_tensor* quotient);
VALUE(HEED_REDUCE_SUM, 0); VALUE(HEED_REDUCE_MEAN, 1); VALUE(HEED_REDUCE_MAX, 2); VALUE(HEED_REDUCE_MIN, 3);
FUNCTION(heed_status, heed_reduce, int32_t reduction, const heed_tensor*, int32_t axis, heed_tensor* result);
FUNCTION(heed_status, heed_concatenate, const heed_tensor* const* tensors, int64_t num_tensors, int32_t axis, heed_tensor* result);
#endif
#endif

#if STAGE >= 5 /* ---- training ---- */
MEMBER(const heed_tensor*, heed_layer_gradients, output);         /* in: gradient of the loss by the output; the rest is written, NULL: not wanted */
MEMBER(heed_tensor*, heed_layer_gradients, queries);  MEMBER(heed_tensor*, heed_layer_gradients, keys);  MEMBER(heed_tensor*, heed_layer_gradients, values);
MEMBER(heed_tensor*, heed_layer_gradients, bias);     MEMBER(heed_gradients*, heed_layer_gradients, parameters); MEMBER(int32_t, heed_layer_gradients, accumulate);
INITIALISER(heed_layer_gradients, HEED_LAYER_GRADIENTS_INIT);
MEMBER(heed_saved*, heed_layer_outputs, saved);                   /* NULL: backward computes again */
FUNCTION(heed_status, heed_layer_saved_size, const heed_layer*, const heed_layer_inputs*, size_t* num_bytes);
FUNCTION(heed_status, heed_saved_create, heed_context*, size_t num_bytes, heed_saved**);
FUNCTION(void, heed_saved_destroy, heed_saved*);
FUNCTION(heed_status, heed_layer_backward_workspace_size, const heed_layer*, const heed_layer_inputs*, const heed_layer_outputs*, const heed_layer_gradients*, size_t* num_bytes);
FUNCTION(heed_status, heed_layer_backward, const heed_layer*, const heed_layer_inputs*, const heed_layer_outputs*, heed_workspace*, const heed_layer_gradients*);
FUNCTION(heed_status, heed_gradients_create, const heed_layer*, heed_gradients**);
FUNCTION(void, heed_gradients_destroy, heed_gradients*);
FUNCTION(int64_t, heed_gradients_count, const heed_gradients*);
FUNCTION(const char*, heed_gradients_name, const heed_gradients*, int64_t index);
FUNCTION(heed_status, heed_gradients_tensor, heed_gradients*, const char* name, heed_tensor** view);
FUNCTION(heed_status, heed_gradients_zero, heed_gradients*);
FUNCTION(heed_status, heed_gradients_clip, heed_gradients* const* sets, int64_t num_sets, double max_norm, double* norm);
VALUE(HEED_LOSS_MEAN, 0); VALUE(HEED_LOSS_SUM, 1); VALUE(HEED_LOSS_MEAN_OF_ITEMS, 2);
MEMBER(float, heed_cross_entropy_options, label_smoothing); MEMBER(int64_t, heed_cross_entropy_options, ignore_index); MEMBER(int32_t, heed_cross_entropy_options, reduction);
INITIALISER(heed_cross_entropy_options, HEED_CROSS_ENTROPY_OPTIONS_INIT);
FUNCTION(heed_status, heed_cross_entropy, const heed_tensor* logits, const heed_tensor* labels, const heed_tensor* valid_lens, const heed_cross_entropy_options*,
         heed_tensor* losses, double* total, heed_tensor* logits_gradient);
MEMBER(double, heed_adamw_options, learning_rate); MEMBER(double, heed_adamw_options, beta1); MEMBER(double, heed_adamw_options, beta2);
MEMBER(double, heed_adamw_options, epsilon);       MEMBER(double, heed_adamw_options, weight_decay);
INITIALISER(heed_adamw_options, HEED_ADAMW_OPTIONS_INIT);         /* PyTorch's defaults */
MEMBER(double, heed_sgd_options, learning_rate);   MEMBER(double, heed_sgd_options, momentum);  MEMBER(double, heed_sgd_options, weight_decay);
INITIALISER(heed_sgd_options, HEED_SGD_OPTIONS_INIT);
FUNCTION(heed_status, heed_adamw_create, heed_context*, const heed_adamw_options*, heed_optimizer**);
FUNCTION(heed_status, heed_sgd_create, heed_context*, const heed_sgd_options*, heed_optimizer**);
FUNCTION(heed_status, heed_optimizer_step, heed_optimizer*, heed_layer*, const heed_gradients*);
FUNCTION(heed_status, heed_optimizer_set_learning_rate, heed_optimizer*, double learning_rate);
FUNCTION(void, heed_optimizer_destroy, heed_optimizer*);
#endif

#if STAGE >= 6 /* ---- heads ---- */
MEMBER(const heed_tensor*, heed_layer_inputs, head_gate);         /* (H) or (B, H), F32; NULL: ones */
MEMBER(heed_tensor*, heed_layer_gradients, head_gate);            /* its absolute value, summed over items, is the importance */
FUNCTION(heed_status, heed_layer_prune_heads, const heed_layer*, const int64_t* keep, int64_t num_keep, heed_layer** pruned);
FUNCTION(heed_status, heed_attention_rollout, const heed_tensor* const* weights, int64_t num_layers, heed_tensor* result);
#endif

int main(void) { return 0; }
