// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

#define ADDITIVE(its_sentence, ...) \
  ALSO(its_sentence, heed_additive_attention_create(context, &additive, &new_layer), __VA_ARGS__)
#define GENERAL(its_sentence, ...) \
  ALSO(its_sentence, heed_general_attention_create(context, &general, &new_layer), __VA_ARGS__)
#define LINEAR(its_sentence, ...) \
  ALSO(its_sentence, heed_linear_create(context, &linear_options, &new_layer), __VA_ARGS__)
#define DROPOUT(its_sentence, ...) \
  ALSO(its_sentence, heed_dropout_create(context, &dropout_options, &new_layer), __VA_ARGS__)

// The options that all attention layers have.
#define SHARED(its_sentence, ...)                                                                  \
  ALSO(its_sentence, heed_dot_product_attention_create(context, &dot_product_options, &new_layer), \
       dot_product_options.__VA_ARGS__),                                                           \
      ADDITIVE(its_sentence, additive.__VA_ARGS__), GENERAL(its_sentence, general.__VA_ARGS__),    \
      MULTI_HEAD(its_sentence, options.__VA_ARGS__)

Cases shared_options() {
  return {
      SHARED("options->dropout is -0.1...", dropout = -0.1f),
      SHARED("options->dropout is 1...", dropout = 1.0f),
      SHARED("options->dropout is nan...", dropout = NAN),
      SHARED("options->scale is nan, expected a finite number, or 0 for the default", scale = NAN),
      SHARED("options->scale is inf...", scale = INFINITY),
      SHARED("options->scale is -inf...", scale = -INFINITY),
      SHARED("options->soft_cap is -2...", soft_cap = -2.0f),
      SHARED("options->soft_cap is inf...", soft_cap = INFINITY),
      SHARED("options->soft_cap is nan...", soft_cap = NAN),
      SHARED("options->window_left is 3 and options->window_right 0, but options->window is HEED_WINDOW_NONE...",
             window_left = 3),
      SHARED("options->window_left is 0 and options->window_right 4, but options->window is HEED_WINDOW_NONE...",
             window_right = 4),
      SHARED("options->causal is -1...", causal = -1),
      SHARED("options->causal is 3...", causal = 3),
      SHARED("options->window is -1...", window = -1),
      SHARED("options->window is 3...", window = 3),
      SHARED("options->empty_rows is -1...", empty_rows = -1),
      SHARED("options->empty_rows is 2...", empty_rows = 2),
  };
}

Cases sizes_of_heads() {
  return {
      MULTI_HEAD("options->num_heads is -2, expected at least 1", options.num_heads = -2),
      MULTI_HEAD("options->num_hiddens is -8, expected at least 0", options.num_hiddens = -8),
      MULTI_HEAD("options->num_heads is 2, which options->num_kv_heads, 4...", options.num_kv_heads = 4),
      MULTI_HEAD("options->num_kv_heads is -1, expected at least 0", options.num_kv_heads = -1),
      MULTI_HEAD("options->head_size is -4, expected at least 0", options.head_size = -4),
      MULTI_HEAD("options->value_head_size is -4, expected at least 0", options.value_head_size = -4),
      MULTI_HEAD("options->output_size is -8, expected at least 0", options.output_size = -8),
      MULTI_HEAD("options->num_heads is 2 and options->head_size 4611686018427387904, whose product overflows...",
                 options.head_size = INT64_MAX / 2 + 1),
      MULTI_HEAD(
          "options->num_kv_heads is 2 and options->value_head_size 9223372036854775807, whose product overflows...",
          options.value_head_size = INT64_MAX),
  };
}

Cases biases_and_projections() {
  return {
      MULTI_HEAD("options->biases is -1...", options.biases = -1),
      MULTI_HEAD("options->no_output_projection is 2, expected 0 or 1", options.no_output_projection = 2),
      MULTI_HEAD("options->reserved is 1, expected 0", options.reserved = 1),
      MULTI_HEAD("options->scoring is -1...", options.scoring = -1),
  };
}

Cases of_small_layers() {
  return {
      ADDITIVE("options->num_hiddens is 0, expected at least 1", additive.num_hiddens = 0),
      ADDITIVE("options->num_hiddens is -5, expected at least 1", additive.num_hiddens = -5),
      ADDITIVE("options->num_hiddens is -9223372036854775808, expected at least 1", additive.num_hiddens = INT64_MIN),
      GENERAL("options->query_size is 0, expected at least 1", general.query_size = 0),
      GENERAL("options->query_size is -5, expected at least 1", general.query_size = -5),
      LINEAR("options->output_size is 0, expected at least 1", linear_options.output_size = 0),
      LINEAR("options->output_size is -5, expected at least 1", linear_options.output_size = -5),
      LINEAR("options->no_bias is 2, expected 0 or 1", linear_options.no_bias = 2),
      LINEAR("options->no_bias is -1, expected 0 or 1", linear_options.no_bias = -1),
      DROPOUT("options->dropout is 1, expected a probability from 0 to below 1", dropout_options.dropout = 1),
      DROPOUT("options->dropout is -0.1...", dropout_options.dropout = -0.1f),
      DROPOUT("options->dropout is nan...", dropout_options.dropout = NAN),
      DROPOUT("options->dropout is inf...", dropout_options.dropout = INFINITY),
      DROPOUT("options->reserved is -1, expected 0", dropout_options.reserved = -1),

      ALSO("options->window_left is 1...", heed_dot_product_attention_create(context, &dot_product_options, &new_layer),
           dot_product_options.window_left = 1),
      ALSO("options->window_left is 0 and options->window_right 1...",
           heed_dot_product_attention_create(context, &dot_product_options, &new_layer),
           dot_product_options.window_right = 1),
  };
}

}  // namespace

Topic layer_options() {
  return {"Options of layers",
          "",
          {
              PROVOKE(heed_dot_product_attention_create(context, &dot_product_options, &new_layer),
                      dot_product_options.causal = 3),
              PROVOKE(heed_dot_product_attention_create(context, &dot_product_options, &new_layer),
                      dot_product_options.window = 3),
              PROVOKE(heed_dot_product_attention_create(context, &dot_product_options, &new_layer),
                      dot_product_options.empty_rows = 2),
              PROVOKE(heed_dot_product_attention_create(context, &dot_product_options, &new_layer),
                      dot_product_options.scale = INFINITY),
              PROVOKE(heed_dot_product_attention_create(context, &dot_product_options, &new_layer),
                      dot_product_options.soft_cap = -1),
              PROVOKE(heed_dot_product_attention_create(context, &dot_product_options, &new_layer),
                      dot_product_options.dropout = 1),
              PROVOKE(heed_dot_product_attention_create(context, &dot_product_options, &new_layer),
                      dot_product_options.window_left = 128),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.num_heads = 0),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.head_size = -1),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.head_size = INT64_MAX),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.num_kv_heads = 3),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.num_hiddens = 0),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.num_hiddens = 9),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.num_hiddens = 0;
                      options.head_size = 4),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.biases = 16),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.no_output_projection = 1;
                      options.output_size = 8),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.no_output_projection = 1;
                      options.biases = HEED_BIAS_O),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.scoring = 2),
              PROVOKE(heed_multi_head_attention_create(context, &options, &new_layer), options.add_bias_kv = 1;
                      options.scoring = HEED_SCORING_ADDITIVE),
              PROVOKE(heed_additive_attention_create(context, NULL, &new_layer)),
              PROVOKE(heed_general_attention_create(context, NULL, &new_layer)),
              PROVOKE(heed_linear_create(context, NULL, &new_layer)),
              shared_options(),
              sizes_of_heads(),
              biases_and_projections(),
              of_small_layers(),
          }};
}

}  // namespace heed::errors_test
