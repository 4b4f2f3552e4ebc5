// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "errors/provocation.h"

namespace heed::errors_test {

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
          }};
}

}  // namespace heed::errors_test
