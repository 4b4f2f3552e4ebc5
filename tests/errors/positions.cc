// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "errors/provocation.h"

namespace heed::errors_test {

Topic position_options() {
  return {
      "Options of positions, norms and sinks",
      "`rope` has the layout HEED_ROPE_HALF, and heads have 4 elements.",
      {
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.layout = 0),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = 6),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  options.head_size = 1),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.rotary_offset = 3),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.rotary_offset = 1),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.rotary_size = 6),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  options.head_size = 131072),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.base = -1),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.attention_factor = -1),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.factor = 8),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_LINEAR),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_NTK; rope.factor = 8; rope.rotary_size = 2),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_YARN; rope.factor = 8),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_YARN; rope.factor = 8; rope.original_length = 4096; rope.base = 1),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_YARN; rope.factor = 8; rope.original_length = 4096;
                  rope.beta_fast = -1),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_YARN; rope.factor = 8; rope.original_length = 4096;
                  rope.beta_slow = -1),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_LLAMA3; rope.factor = 8; rope.original_length = 8192;
                  rope.low_freq_factor = 8),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.num_factors = -1),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.num_factors = 2),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.factors = memory),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_FACTORS; rope.factors = memory; rope.num_factors = 3),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_FACTORS; rope.factors = memory; rope.num_factors = 2),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_FACTORS; memory[0] = memory[1] = 1; rope.factors = memory;
                  rope.num_factors = 2),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_FACTORS; memory[0] = memory[1] = 1; rope.factors = memory;
                  rope.num_factors = 2; rope.factor = 32),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_FACTORS; memory[0] = memory[1] = 1; rope.factors = memory;
                  rope.num_factors = 2; rope.attention_factor = 1; rope.original_length = -1),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.short_factors = memory),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope;
                  rope.scaling = HEED_ROPE_SCALING_FACTORS; memory[0] = memory[1] = 1;
                  rope.factors = rope.short_factors = memory; rope.num_factors = 2; rope.attention_factor = 1),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.qk_norm_epsilon = NAN),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer),
                  options.qk_norm = HEED_QK_NORM_LAYER),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.qk_norm = 2),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.alibi = 3),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.relative_bias = 3),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.relative_bias_buckets = 32),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer),
                  options.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
                  options.relative_bias_buckets = 31),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer),
                  options.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
                  options.relative_bias_buckets = 1),
          PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer),
                  options.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
                  options.relative_bias_max_distance = 16),
          PROVOKE(heed_positional_encoding_create(context, NULL, &new_layer)),
          PROVOKE(heed_positional_encoding_create(context, &encoding, &new_layer), encoding.size = 0),
          PROVOKE(heed_positional_encoding_create(context, &encoding, &new_layer), encoding.kind = 4),
          PROVOKE(heed_positional_encoding_create(context, &encoding, &new_layer),
                  encoding.kind = HEED_POSITIONS_SINUSOIDAL_HALVES;
                  encoding.size = 7),
          PROVOKE(heed_positional_encoding_create(context, &encoding, &new_layer), encoding.first_row = -1),
          PROVOKE(heed_positional_encoding_create(context, &encoding, &new_layer),
                  encoding.kind = HEED_POSITIONS_SINUSOIDAL;
                  encoding.first_row = 2),
      }};
}

Topic sequences() {
  return {
      "Positions, packed batches and lengths of queries",
      "`inputs.sequences` is `&sequences`. `pack({0, 3, 5}, {0, 5, 9})` packs elements of 3 and 2 queries and of 5 and "
      "4 keys with "
      "these offsets, and makes `outputs` fit.",
      {
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                  sequences.positions = tensor_of(HEED_F32, {2, 3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), sequences.positions = tensor_of(HEED_I32, {3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                  heed_tensor_reshape(numbers({0, 1, 2, 0, 1, -1}), 2, dims, &new_tensor);
                  sequences.positions = new_tensor),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                  sequences.query_lens = tensor_of(HEED_I32, {2, 3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), sequences.query_lens = numbers({3, 4})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), sequences.key_offsets = numbers({0, 5, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), sequences.query_offsets = numbers({0, 3, 5})),
          PROVOKE(heed_layer_forward(dot_product, &inputs, NULL, &outputs),
                  sequences.query_offsets = numbers({0, 3, 5});
                  inputs.queries = tensor_of(HEED_F32, {2, 4, 3, 4})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  sequences.query_offsets = tensor_of(HEED_I32, {1, 3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({1, 3, 5}, {0, 5, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 6, 5}, {0, 5, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 4}, {0, 5, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  sequences.key_offsets = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 8, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  sequences.query_lens = numbers({3, 2})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  sequences.positions = tensor_of(HEED_I64, {2, 3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  sequences.positions = numbers({0, 1, 2, 0, -1})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  inputs.valid_lens = lengths({5, 4})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  outputs.weights = tensor_of(HEED_F32, {2, 2, 3, 5})),
          PROVOKE(heed_layer_create_outputs(layer, &inputs, HEED_WANT_WEIGHTS, &new_outputs),
                  pack({0, 3, 5}, {0, 5, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.sinks = tensor_of(HEED_F32, {3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), options.sinks = 1; layer = layer_with(options);
                  heed_layer_initialize(layer, &inputs, 42); inputs.sinks = tensor_of(HEED_F32, {2})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), options.alibi = HEED_ALIBI_ADDED;
                  layer = layer_with(options); heed_layer_initialize(layer, &inputs, 42);
                  inputs.alibi_slopes = tensor_of(HEED_F32, {2})),
          PROVOKE(heed_layer_workspace_size(layer, &inputs, NULL, &num_bytes), options.rope = &rope;
                  layer = layer_with(options); heed_layer_initialize(layer, &inputs, 42);
                  inputs.queries = shape_of(HEED_F32, {2, 4294967297, 6})),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs),
                  heed_positional_encoding_create(context, &encoding, &new_layer)),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs),
                  heed_positional_encoding_create(context, &encoding, &new_layer);
                  inputs.keys = inputs.values = NULL; inputs.queries = tensor_of(HEED_F32, {2, 3, 7})),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs),
                  heed_positional_encoding_create(context, &encoding, &new_layer);
                  inputs.keys = inputs.values = NULL; inputs.queries = tensor_of(HEED_F32, {2, 11, 6})),
      }};
}

}  // namespace heed::errors_test
