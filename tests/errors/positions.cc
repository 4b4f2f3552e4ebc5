// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

#define ROPE(its_sentence, ...) \
  ALSO(its_sentence, heed_multi_head_attention_create(context, &options, &new_layer), options.rope = &rope; __VA_ARGS__)
#define POSITIONS(its_sentence, ...) \
  ALSO(its_sentence, heed_positional_encoding_create(context, &encoding, &new_layer), __VA_ARGS__)

Cases layouts_and_slices() {
  return {
    ROPE("options->rope->layout is 3...", rope.layout = 3), ROPE("options->rope->scaling is -1...", rope.scaling = -1),
        ROPE("options->rope->no_rounding is 2, expected 0 or 1", rope.no_rounding = 2),
        ROPE("options->rope->rotary_size is 3, expected an even number from 2 to 4...", rope.rotary_size = 3),
        ROPE("options->rope->rotary_size is -2...", rope.rotary_size = -2),
        ROPE("options->rope->rotary_size is 4, expected an even number from 2 to 2...", rope.rotary_size = 4;
             rope.rotary_offset = 2),
        ROPE("options->rope->rotary_offset is -1...", rope.rotary_offset = -1),
        ROPE("options->rope->rotary_offset is 4...", rope.rotary_offset = 4),
        ROPE("options->rope->rotary_offset is 9223372036854775807...", rope.rotary_offset = INT64_MAX),
        ROPE("options->rope->rotary_size is -9223372036854775808...", rope.rotary_size = INT64_MIN),
        ROPE("options->rope is set, but a head has 1 element: expected an options->head_size of at least 2",
             options.num_hiddens = 2),
        ROPE("options->rope->rotary_size is 0, the 5 elements...", options.num_hiddens = 10),
        ROPE("options->rope->rotary_size is 65538 by default, expected at most 65536", options.num_hiddens = 131076),
        ROPE("options->rope->rotary_size is 65538, expected at most 65536", rope.rotary_size = 65538;
             options.num_hiddens = 131076),
        ROPE("options->rope->rotary_size is 4611686018427387902 by default, expected at most 65536",
             options.num_hiddens = INT64_MAX - 3),
  };
}

Cases numbers_of_scalings() {
  return {
    ROPE("options->rope->base is nan...", rope.base = NAN), ROPE("options->rope->base is inf...", rope.base = INFINITY),
        ROPE("options->rope->attention_factor is -0.5, expected a finite number above 0, or 0",
             rope.attention_factor = -0.5f),
        ROPE("options->rope->attention_factor is nan...", rope.attention_factor = NAN),
        ROPE("options->rope->factor is -4...", rope.scaling = HEED_ROPE_SCALING_LINEAR; rope.factor = -4),
        ROPE("options->rope->factor is nan, expected a finite number above 0 with HEED_ROPE_SCALING_NTK",
             rope.scaling = HEED_ROPE_SCALING_NTK;
             rope.factor = NAN),
        ROPE("options->rope->rotary_size is 2, expected at least 4 with HEED_ROPE_SCALING_NTK...",
             rope.scaling = HEED_ROPE_SCALING_NTK;
             rope.factor = 2; rope.rotary_size = 2),
        ROPE("options->rope->factor is 0, expected a finite number above 0 with HEED_ROPE_SCALING_YARN",
             rope.scaling = HEED_ROPE_SCALING_YARN;
             rope.original_length = 64; rope.factor = 0),
        ROPE(
            "options->rope->original_length is 0, expected the number of positions of the training, at least 1, with "
            "HEED_ROPE_SCALING_YARN",
            rope.scaling = HEED_ROPE_SCALING_YARN;
            rope.factor = 2),
        ROPE(
            "options->rope->base is 1, expected another number with HEED_ROPE_SCALING_YARN, which divides by its "
            "logarithm",
            rope.scaling = HEED_ROPE_SCALING_YARN;
            rope.factor = 2; rope.original_length = 64; rope.base = 1),
        ROPE("options->rope->beta_fast is -32, expected a finite number above 0, or 0 for 32",
             rope.scaling = HEED_ROPE_SCALING_YARN;
             rope.factor = 2; rope.original_length = 64; rope.beta_fast = -32),
        ROPE("options->rope->beta_slow is inf, expected a finite number above 0, or 0 for 1",
             rope.scaling = HEED_ROPE_SCALING_YARN;
             rope.factor = 2; rope.original_length = 64; rope.beta_slow = INFINITY),
        ROPE("options->rope->factor is 0, expected a finite number above 0 with HEED_ROPE_SCALING_LLAMA3",
             rope.scaling = HEED_ROPE_SCALING_LLAMA3;
             rope.original_length = 64; rope.factor = 0),
        ROPE("options->rope->original_length is -8192...", rope.scaling = HEED_ROPE_SCALING_LLAMA3; rope.factor = 2;
             rope.original_length = -8192),
        ROPE("options->rope->low_freq_factor is -1...", rope.scaling = HEED_ROPE_SCALING_LLAMA3; rope.factor = 2;
             rope.original_length = 64; rope.low_freq_factor = -1),
        ROPE("options->rope->high_freq_factor is 2, expected a finite number above low_freq_factor, 2",
             rope.scaling = HEED_ROPE_SCALING_LLAMA3;
             rope.factor = 2; rope.original_length = 64; rope.low_freq_factor = rope.high_freq_factor = 2),
        ROPE("options->rope->high_freq_factor is 4 by default, expected a finite number above low_freq_factor, 8",
             rope.scaling = HEED_ROPE_SCALING_LLAMA3;
             rope.factor = 2; rope.original_length = 64; rope.low_freq_factor = 8),
        ROPE("options->rope->high_freq_factor is inf...", rope.scaling = HEED_ROPE_SCALING_LLAMA3; rope.factor = 2;
             rope.original_length = 64; rope.high_freq_factor = INFINITY),
  };
}

Cases lists_of_factors() {
  return {
    ROPE("options->rope->num_factors is 0, expected one for each pair, rotary_size / 2 = 2", use_factors(0);
         rope.factors = NULL),
        ROPE("options->rope->num_factors is 1, expected one for each pair, rotary_size / 2 = 2", use_factors(1)),
        ROPE("options->rope->num_factors is 2, expected one for each pair, rotary_size / 2 = 1", use_factors(2);
             rope.rotary_size = 2),
        ROPE("options->rope->num_factors is 9223372036854775807...", use_factors(INT64_MAX)),
        ROPE("options->rope->num_factors is -1, expected at least 0", use_factors(-1)),
        ROPE("options->rope->num_factors is 2, but options->rope->factors is NULL...", use_factors(2);
             rope.factors = NULL),
        ROPE("options->rope->num_factors is 0, but options->rope->factors is set...", use_factors(0)),
        ROPE("options->rope->factors[1] is 0, expected a finite number above 0", use_factors(2); two_factors[1] = 0),
        ROPE("options->rope->factors[0] is nan...", use_factors(2); two_factors[0] = NAN),
        ROPE(
            "options->rope->factor is 0, expected a finite number above 0, or an attention_factor, with "
            "HEED_ROPE_SCALING_FACTORS",
            use_factors(2);
            rope.factor = 0),
        ROPE("options->rope->factor is nan...", use_factors(2); rope.factor = NAN; rope.attention_factor = 1),
        ROPE("options->rope->original_length is -1...", use_factors(2); rope.original_length = -1;
             rope.attention_factor = 1),
        ROPE(
            "options->rope->original_length is 1, expected the number of positions of the training, at least 2, or an "
            "attention_factor...",
            use_factors(2);
            rope.original_length = 1),
  };
}

Cases norms_sinks_and_biases_of_distances() {
  return {
    MULTI_HEAD("options->qk_norm_epsilon is -1e-06, expected a finite number above 0, or 0 for no norm",
               options.qk_norm_epsilon = -1e-6f),
        MULTI_HEAD("options->qk_norm_epsilon is inf...", options.qk_norm_epsilon = INFINITY),
        MULTI_HEAD("options->qk_norm is -1...", options.qk_norm = -1),
        MULTI_HEAD("options->sinks is 2, expected 0 or 1", options.sinks = 2),
        MULTI_HEAD("options->sinks is -1, expected 0 or 1", options.sinks = -1),
        MULTI_HEAD("options->alibi is -1...", options.alibi = -1),
        MULTI_HEAD("options->relative_bias is -1...", options.relative_bias = -1),
        MULTI_HEAD(
            "options->relative_bias_max_distance is 128, but options->relative_bias is HEED_RELATIVE_BIAS_NONE: "
            "expected 0",
            options.relative_bias_max_distance = 128),
        MULTI_HEAD("options->relative_bias_buckets is 2, expected an even number from 4 to 1048576",
                   options.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
                   options.relative_bias_buckets = 2),
        MULTI_HEAD("options->relative_bias_buckets is 9223372036854775807, expected a number from 2 to 1048576",
                   options.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
                   options.relative_bias_buckets = INT64_MAX),
        MULTI_HEAD("options->relative_bias_max_distance is -1, expected above 8...",
                   options.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
                   options.relative_bias_max_distance = -1),
        MULTI_HEAD(
            "options->relative_bias_max_distance is 1048577, expected above 8, the number of distances with buckets of "
            "their own, and at most 1048576",
            options.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
            options.relative_bias_max_distance = (int64_t{1} << 20) + 1),
        MULTI_HEAD("options->reserved_2 is 1, expected 0", options.reserved_2 = 1),
  };
}

Cases options_of_positional_encoding() {
  return {
    POSITIONS("options->max_positions is 0, expected 1 to 2147483647", encoding.max_positions = 0),
        POSITIONS("options->max_positions is -1...", encoding.max_positions = -1),
        POSITIONS("options->max_positions is 2147483648...", encoding.max_positions = int64_t{1} << 31),
        POSITIONS("options->size is -6, expected at least 1", encoding.size = -6),
        POSITIONS("options->size is 2, expected an even number from 4 on...",
                  encoding.kind = HEED_POSITIONS_SINUSOIDAL_HALVES;
                  encoding.size = 2),
        POSITIONS("options->size is 7, expected an even number from 2 on...",
                  encoding.kind = HEED_POSITIONS_SINUSOIDAL_HALVES_2I;
                  encoding.size = 7),
        POSITIONS("options->first_row is 9223372036854775807...", encoding.first_row = INT64_MAX),
        POSITIONS("options->dropout is 1, expected a probability from 0 to below 1", encoding.dropout = 1),
        POSITIONS("options->dropout is nan...", encoding.dropout = NAN),
        POSITIONS("options->kind is -1...", encoding.kind = -1),
        POSITIONS("dims is (2147483647, 1099511627776), whose product overflows...",
                  encoding.kind = HEED_POSITIONS_SINUSOIDAL;
                  encoding.max_positions = INT32_MAX; encoding.size = int64_t{1} << 40),
  };
}

}  // namespace

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
          layouts_and_slices(),
          numbers_of_scalings(),
          lists_of_factors(),
          norms_sinks_and_biases_of_distances(),
          options_of_positional_encoding(),
      }};
}

}  // namespace heed::errors_test
