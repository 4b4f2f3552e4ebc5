/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of every public struct on systems with 64-bit pointers. A number here changes only together with the
   SONAME. A new member is added at the end of its struct, which adds a line here and increases the size. */
#include <heed/heed.h>

#define SIZE(structure, num_bytes) \
  _Static_assert(sizeof(structure) == (num_bytes), #structure " must have " #num_bytes " bytes")
#define AT(structure, member, num_bytes) \
  _Static_assert(offsetof(structure, member) == (num_bytes), #structure "." #member " must be at byte " #num_bytes)

_Static_assert(sizeof(void*) == 8 && sizeof(size_t) == 8, "the numbers below are those of 64-bit systems");

_Static_assert(HEED_LOG_ERROR == 1 && HEED_LOG_WARNING == 2 && HEED_LOG_INFO == 3 && HEED_LOG_DEBUG == 4,
               "levels are never renumbered");

SIZE(heed_allocator, 32);
AT(heed_allocator, struct_size, 0);
AT(heed_allocator, allocate, 8);
AT(heed_allocator, release, 16);
AT(heed_allocator, user, 24);

SIZE(heed_executor, 32);
AT(heed_executor, struct_size, 0);
AT(heed_executor, parallel_for, 8);
AT(heed_executor, num_threads, 16);
AT(heed_executor, user, 24);

SIZE(heed_logger, 24);
AT(heed_logger, struct_size, 0);
AT(heed_logger, write, 8);
AT(heed_logger, user, 16);

SIZE(heed_context_options, 56);
AT(heed_context_options, struct_size, 0);
AT(heed_context_options, allocator, 8);
AT(heed_context_options, executor, 16);
AT(heed_context_options, logger, 24);
AT(heed_context_options, device, 32);
AT(heed_context_options, device_index, 36);
AT(heed_context_options, num_threads, 40);
AT(heed_context_options, strict, 44);
AT(heed_context_options, allow_reduced_precision, 48);
AT(heed_context_options, flush_subnormals, 52);

SIZE(heed_dot_product_attention_options, 48);
AT(heed_dot_product_attention_options, struct_size, 0);
AT(heed_dot_product_attention_options, window_left, 8);
AT(heed_dot_product_attention_options, window_right, 16);
AT(heed_dot_product_attention_options, scale, 24);
AT(heed_dot_product_attention_options, soft_cap, 28);
AT(heed_dot_product_attention_options, dropout, 32);
AT(heed_dot_product_attention_options, causal, 36);
AT(heed_dot_product_attention_options, window, 40);
AT(heed_dot_product_attention_options, empty_rows, 44);

SIZE(heed_additive_attention_options, 56);
AT(heed_additive_attention_options, struct_size, 0);
AT(heed_additive_attention_options, num_hiddens, 8);
AT(heed_additive_attention_options, window_left, 16);
AT(heed_additive_attention_options, window_right, 24);
AT(heed_additive_attention_options, scale, 32);
AT(heed_additive_attention_options, soft_cap, 36);
AT(heed_additive_attention_options, dropout, 40);
AT(heed_additive_attention_options, causal, 44);
AT(heed_additive_attention_options, window, 48);
AT(heed_additive_attention_options, empty_rows, 52);
SIZE(heed_general_attention_options, 56);
AT(heed_general_attention_options, struct_size, 0);
AT(heed_general_attention_options, query_size, 8);
AT(heed_general_attention_options, window_left, 16);
AT(heed_general_attention_options, window_right, 24);
AT(heed_general_attention_options, scale, 32);
AT(heed_general_attention_options, soft_cap, 36);
AT(heed_general_attention_options, dropout, 40);
AT(heed_general_attention_options, causal, 44);
AT(heed_general_attention_options, window, 48);
AT(heed_general_attention_options, empty_rows, 52);

SIZE(heed_rope_options, 96);
AT(heed_rope_options, struct_size, 0);
AT(heed_rope_options, rotary_size, 8);
AT(heed_rope_options, rotary_offset, 16);
AT(heed_rope_options, original_length, 24);
AT(heed_rope_options, num_factors, 32);
AT(heed_rope_options, factors, 40);
AT(heed_rope_options, base, 48);
AT(heed_rope_options, factor, 52);
AT(heed_rope_options, beta_fast, 56);
AT(heed_rope_options, beta_slow, 60);
AT(heed_rope_options, low_freq_factor, 64);
AT(heed_rope_options, high_freq_factor, 68);
AT(heed_rope_options, attention_factor, 72);
AT(heed_rope_options, layout, 76);
AT(heed_rope_options, scaling, 80);
AT(heed_rope_options, no_rounding, 84);
AT(heed_rope_options, short_factors, 88);

SIZE(heed_multi_head_attention_options, 168);
AT(heed_multi_head_attention_options, struct_size, 0);
AT(heed_multi_head_attention_options, num_hiddens, 8);
AT(heed_multi_head_attention_options, num_heads, 16);
AT(heed_multi_head_attention_options, num_kv_heads, 24);
AT(heed_multi_head_attention_options, head_size, 32);
AT(heed_multi_head_attention_options, value_head_size, 40);
AT(heed_multi_head_attention_options, output_size, 48);
AT(heed_multi_head_attention_options, window_left, 56);
AT(heed_multi_head_attention_options, window_right, 64);
AT(heed_multi_head_attention_options, scale, 72);
AT(heed_multi_head_attention_options, soft_cap, 76);
AT(heed_multi_head_attention_options, dropout, 80);
AT(heed_multi_head_attention_options, biases, 84);
AT(heed_multi_head_attention_options, no_output_projection, 88);
AT(heed_multi_head_attention_options, scoring, 92);
AT(heed_multi_head_attention_options, causal, 96);
AT(heed_multi_head_attention_options, window, 100);
AT(heed_multi_head_attention_options, empty_rows, 104);
AT(heed_multi_head_attention_options, reserved, 108);
AT(heed_multi_head_attention_options, rope, 112);
AT(heed_multi_head_attention_options, relative_bias_buckets, 120);
AT(heed_multi_head_attention_options, relative_bias_max_distance, 128);
AT(heed_multi_head_attention_options, qk_norm_epsilon, 136);
AT(heed_multi_head_attention_options, qk_norm, 140);
AT(heed_multi_head_attention_options, sinks, 144);
AT(heed_multi_head_attention_options, relative_bias, 148);
AT(heed_multi_head_attention_options, alibi, 152);
AT(heed_multi_head_attention_options, add_bias_kv, 156);
AT(heed_multi_head_attention_options, add_zero_attn, 160);
AT(heed_multi_head_attention_options, reserved_2, 164);

SIZE(heed_linear_options, 24);
AT(heed_linear_options, struct_size, 0);
AT(heed_linear_options, output_size, 8);
AT(heed_linear_options, no_bias, 16);
AT(heed_linear_options, reserved, 20);

SIZE(heed_progress, 24);
AT(heed_progress, struct_size, 0);
AT(heed_progress, report, 8);
AT(heed_progress, user, 16);

SIZE(heed_load_options, 32);
AT(heed_load_options, struct_size, 0);
AT(heed_load_options, accept, 8);
AT(heed_load_options, progress, 16);
AT(heed_load_options, widen, 24);
AT(heed_load_options, reserved, 28);

SIZE(heed_cross_entropy_options, 24);
AT(heed_cross_entropy_options, struct_size, 0);
AT(heed_cross_entropy_options, ignore_index, 8);
AT(heed_cross_entropy_options, label_smoothing, 16);
AT(heed_cross_entropy_options, reduction, 20);

SIZE(heed_squared_error_options, 24);
AT(heed_squared_error_options, struct_size, 0);
AT(heed_squared_error_options, factor, 8);
AT(heed_squared_error_options, reduction, 16);
AT(heed_squared_error_options, reserved, 20);

SIZE(heed_sgd_options, 40);
AT(heed_sgd_options, struct_size, 0);
AT(heed_sgd_options, learning_rate, 8);
AT(heed_sgd_options, momentum, 16);
AT(heed_sgd_options, weight_decay, 24);
AT(heed_sgd_options, nesterov, 32);
AT(heed_sgd_options, reserved, 36);

SIZE(heed_adamw_options, 56);
AT(heed_adamw_options, struct_size, 0);
AT(heed_adamw_options, learning_rate, 8);
AT(heed_adamw_options, beta1, 16);
AT(heed_adamw_options, beta2, 24);
AT(heed_adamw_options, epsilon, 32);
AT(heed_adamw_options, weight_decay, 40);
AT(heed_adamw_options, coupled_decay, 48);
AT(heed_adamw_options, epsilon_placement, 52);

SIZE(heed_parameter_group, 24);
AT(heed_parameter_group, struct_size, 0);
AT(heed_parameter_group, learning_rate_factor, 8);
AT(heed_parameter_group, weight_decay, 16);

SIZE(heed_step_part, 32);
AT(heed_step_part, struct_size, 0);
AT(heed_step_part, prefix, 8);
AT(heed_step_part, layer, 16);
AT(heed_step_part, gradients, 24);

SIZE(heed_model_options, 16);
AT(heed_model_options, struct_size, 0);
AT(heed_model_options, load, 8);

SIZE(heed_dropout_options, 16);
AT(heed_dropout_options, struct_size, 0);
AT(heed_dropout_options, dropout, 8);
AT(heed_dropout_options, reserved, 12);

SIZE(heed_positional_encoding_options, 40);
AT(heed_positional_encoding_options, struct_size, 0);
AT(heed_positional_encoding_options, max_positions, 8);
AT(heed_positional_encoding_options, size, 16);
AT(heed_positional_encoding_options, first_row, 24);
AT(heed_positional_encoding_options, dropout, 32);
AT(heed_positional_encoding_options, kind, 36);

SIZE(heed_sequence_inputs, 48);
AT(heed_sequence_inputs, struct_size, 0);
AT(heed_sequence_inputs, positions, 8);
AT(heed_sequence_inputs, query_lens, 16);
AT(heed_sequence_inputs, query_offsets, 24);
AT(heed_sequence_inputs, key_offsets, 32);
AT(heed_sequence_inputs, key_positions, 40);

SIZE(heed_cache_options, 104);
AT(heed_cache_options, struct_size, 0);
AT(heed_cache_options, num_layers, 8);
AT(heed_cache_options, max_sequences, 16);
AT(heed_cache_options, num_kv_heads, 24);
AT(heed_cache_options, head_size, 32);
AT(heed_cache_options, value_head_size, 40);
AT(heed_cache_options, capacity, 48);
AT(heed_cache_options, num_sinks, 56);
AT(heed_cache_options, page_size, 64);
AT(heed_cache_options, num_pages, 72);
AT(heed_cache_options, layout, 80);
AT(heed_cache_options, dtype, 84);
AT(heed_cache_options, unrotated_keys, 88);
AT(heed_cache_options, reserved, 92);
AT(heed_cache_options, layer_capacities, 96);

SIZE(heed_cache_inputs, 40);
AT(heed_cache_inputs, struct_size, 0);
AT(heed_cache_inputs, cache, 8);
AT(heed_cache_inputs, sequences, 16);
AT(heed_cache_inputs, layer, 24);
AT(heed_cache_inputs, use, 32);
AT(heed_cache_inputs, reserved, 36);

SIZE(heed_layer_norm_options, 24);
AT(heed_layer_norm_options, struct_size, 0);
AT(heed_layer_norm_options, epsilon, 8);
AT(heed_layer_norm_options, kind, 12);
AT(heed_layer_norm_options, no_bias, 16);
AT(heed_layer_norm_options, reserved, 20);

SIZE(heed_feed_forward_options, 40);
AT(heed_feed_forward_options, struct_size, 0);
AT(heed_feed_forward_options, hidden_size, 8);
AT(heed_feed_forward_options, output_size, 16);
AT(heed_feed_forward_options, activation, 24);
AT(heed_feed_forward_options, gated, 28);
AT(heed_feed_forward_options, no_bias, 32);
AT(heed_feed_forward_options, dropout, 36);

SIZE(heed_embedding_options, 40);
AT(heed_embedding_options, struct_size, 0);
AT(heed_embedding_options, num_embeddings, 8);
AT(heed_embedding_options, embedding_size, 16);
AT(heed_embedding_options, padding_index, 24);
AT(heed_embedding_options, scale, 32);
AT(heed_embedding_options, reserved, 36);

SIZE(heed_encoder_layer_options, 56);
AT(heed_encoder_layer_options, struct_size, 0);
AT(heed_encoder_layer_options, attention, 8);
AT(heed_encoder_layer_options, feed_forward, 16);
AT(heed_encoder_layer_options, norm, 24);
AT(heed_encoder_layer_options, norm_first, 32);
AT(heed_encoder_layer_options, dropout, 36);
AT(heed_encoder_layer_options, output_norms, 40);
AT(heed_encoder_layer_options, no_first_norm, 44);
AT(heed_encoder_layer_options, residual_scale, 48);
AT(heed_encoder_layer_options, reserved, 52);

SIZE(heed_decoder_layer_options, 64);
AT(heed_decoder_layer_options, struct_size, 0);
AT(heed_decoder_layer_options, self_attention, 8);
AT(heed_decoder_layer_options, cross_attention, 16);
AT(heed_decoder_layer_options, feed_forward, 24);
AT(heed_decoder_layer_options, norm, 32);
AT(heed_decoder_layer_options, norm_first, 40);
AT(heed_decoder_layer_options, dropout, 44);
AT(heed_decoder_layer_options, output_norms, 48);
AT(heed_decoder_layer_options, no_first_norm, 52);
AT(heed_decoder_layer_options, residual_scale, 56);
AT(heed_decoder_layer_options, reserved, 60);

SIZE(heed_output_options, 32);
AT(heed_output_options, struct_size, 0);
AT(heed_output_options, size, 8);
AT(heed_output_options, tied, 16);
AT(heed_output_options, bias, 20);
AT(heed_output_options, scale, 24);
AT(heed_output_options, soft_cap, 28);

SIZE(heed_patch_embedding_options, 64);
AT(heed_patch_embedding_options, struct_size, 0);
AT(heed_patch_embedding_options, patch_height, 8);
AT(heed_patch_embedding_options, patch_width, 16);
AT(heed_patch_embedding_options, num_channels, 24);
AT(heed_patch_embedding_options, size, 32);
AT(heed_patch_embedding_options, class_token, 40);
AT(heed_patch_embedding_options, no_bias, 44);
AT(heed_patch_embedding_options, image_height, 48);
AT(heed_patch_embedding_options, image_width, 56);
SIZE(heed_audio_embedding_options, 24);
AT(heed_audio_embedding_options, struct_size, 0);
AT(heed_audio_embedding_options, num_mels, 8);
AT(heed_audio_embedding_options, size, 16);
SIZE(heed_encoder_options, 104);
AT(heed_encoder_options, struct_size, 0);
AT(heed_encoder_options, layer, 8);
AT(heed_encoder_options, num_layers, 16);
AT(heed_encoder_options, final_norm, 24);
AT(heed_encoder_options, reserved, 28);
AT(heed_encoder_options, layers, 32);
AT(heed_encoder_options, embedding, 40);
AT(heed_encoder_options, positions, 48);
AT(heed_encoder_options, output, 56);
AT(heed_encoder_options, num_token_types, 64);
AT(heed_encoder_options, embedding_norm, 72);
AT(heed_encoder_options, share_layers, 76);
AT(heed_encoder_options, no_projection_bias, 80);
AT(heed_encoder_options, reserved_2, 84);
AT(heed_encoder_options, patches, 88);
AT(heed_encoder_options, audio, 96);

SIZE(heed_decoder_options, 88);
AT(heed_decoder_options, struct_size, 0);
AT(heed_decoder_options, layer, 8);
AT(heed_decoder_options, num_layers, 16);
AT(heed_decoder_options, final_norm, 24);
AT(heed_decoder_options, reserved, 28);
AT(heed_decoder_options, layers, 32);
AT(heed_decoder_options, embedding, 40);
AT(heed_decoder_options, positions, 48);
AT(heed_decoder_options, output, 56);
AT(heed_decoder_options, num_token_types, 64);
AT(heed_decoder_options, embedding_norm, 72);
AT(heed_decoder_options, share_layers, 76);
AT(heed_decoder_options, no_projection_bias, 80);
AT(heed_decoder_options, reserved_2, 84);

SIZE(heed_transformer_options, 40);
AT(heed_transformer_options, struct_size, 0);
AT(heed_transformer_options, encoder, 8);
AT(heed_transformer_options, decoder, 16);
AT(heed_transformer_options, embedding, 24);
AT(heed_transformer_options, output, 32);

SIZE(heed_decoder_inputs, 56);
AT(heed_decoder_inputs, struct_size, 0);
AT(heed_decoder_inputs, self_valid_lens, 8);
AT(heed_decoder_inputs, self_mask, 16);
AT(heed_decoder_inputs, self_bias, 24);
AT(heed_decoder_inputs, memory, 32);
AT(heed_decoder_inputs, memory_cache, 40);
AT(heed_decoder_inputs, self_attention_mask, 48);

SIZE(heed_layer_inputs, 152);
AT(heed_layer_inputs, struct_size, 0);
AT(heed_layer_inputs, queries, 8);
AT(heed_layer_inputs, keys, 16);
AT(heed_layer_inputs, values, 24);
AT(heed_layer_inputs, valid_lens, 32);
AT(heed_layer_inputs, mask, 40);
AT(heed_layer_inputs, bias, 48);
AT(heed_layer_inputs, dropout_seed, 56);
AT(heed_layer_inputs, training, 64);
AT(heed_layer_inputs, reserved, 68);
AT(heed_layer_inputs, alibi_slopes, 72);
AT(heed_layer_inputs, sequences, 80);
AT(heed_layer_inputs, sinks, 88);
AT(heed_layer_inputs, cache, 96);
AT(heed_layer_inputs, decoder, 104);
AT(heed_layer_inputs, token_types, 112);
AT(heed_layer_inputs, progress, 120);
AT(heed_layer_inputs, attention_mask, 128);
AT(heed_layer_inputs, num_last_rows, 136);
AT(heed_layer_inputs, output_rows, 144);

SIZE(heed_layer_tap, 32);
AT(heed_layer_tap, struct_size, 0);
AT(heed_layer_tap, child, 8);
AT(heed_layer_tap, weights, 16);
AT(heed_layer_tap, log_sum_exp, 24);

SIZE(heed_layer_outputs, 56);
AT(heed_layer_outputs, struct_size, 0);
AT(heed_layer_outputs, output, 8);
AT(heed_layer_outputs, weights, 16);
AT(heed_layer_outputs, log_sum_exp, 24);
AT(heed_layer_outputs, taps, 32);
AT(heed_layer_outputs, num_taps, 40);
AT(heed_layer_outputs, saved, 48);

SIZE(heed_layer_gradients, 96);
AT(heed_layer_gradients, struct_size, 0);
AT(heed_layer_gradients, output, 8);
AT(heed_layer_gradients, queries, 16);
AT(heed_layer_gradients, keys, 24);
AT(heed_layer_gradients, values, 32);
AT(heed_layer_gradients, bias, 40);
AT(heed_layer_gradients, alibi_slopes, 48);
AT(heed_layer_gradients, sinks, 56);
AT(heed_layer_gradients, self_bias, 64);
AT(heed_layer_gradients, memory, 72);
AT(heed_layer_gradients, parameters, 80);
AT(heed_layer_gradients, accumulate, 88);
AT(heed_layer_gradients, reserved, 92);

int main(void) { return 0; }
