// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic layer_inputs() {
  return {
      "Inputs of layers",
      "",
      {
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.queries = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), progress.report = stop;
                  inputs.progress = &progress),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), progress.report = throw_number;
                  inputs.progress = &progress),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.queries = tensor_of(HEED_F64, {2, 3, 6})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.keys = tensor_of(HEED_F16, {2, 5, 7})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.queries = tensor_of(HEED_F32, {3, 6})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.keys = tensor_of(HEED_F32, {5, 7})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.keys = tensor_of(HEED_F32, {1, 5, 7})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.values = tensor_of(HEED_F32, {2, 4, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.queries = tensor_of(HEED_F32, {2, 3, 5})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.queries = tensor_of(HEED_F32, {3, 4})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.keys = tensor_of(HEED_F32, {2, 5, 4})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.keys = tensor_of(HEED_F32, {2, 2, 5, 3})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.values = tensor_of(HEED_F32, {2, 2, 4, 6})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.values = tensor_of(HEED_F32, {2, 4, 5, 6})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.keys = heads.values = tensor_of(HEED_F32, {2, 3, 5, 4})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.queries = tensor_of(HEED_F32, {2, 0, 3, 4})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.queries = heads.keys = heads.values = tensor_of(HEED_F32, {2, 4, 3, 0})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.valid_lens = tensor_of(HEED_I8, {2})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.valid_lens = tensor_of(HEED_I32, {3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.valid_lens = lengths({5, 6})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.valid_lens = lengths({2.5f, 5})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                  heed_tensor_reshape(lengths({1, 2, 3, 4, 5, -1}), 2, dims, &new_tensor);
                  inputs.valid_lens = new_tensor),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.mask = tensor_of(HEED_F32, {3, 5})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.mask = tensor_of(HEED_BOOL, {2, 3, 5})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.mask = tensor_of(HEED_BOOL, {3, 4})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.mask = tensor_of(HEED_BOOL, {2, 5})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.bias = tensor_of(HEED_F16, {3, 5})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.alibi_slopes = tensor_of(HEED_F16, {2})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.alibi_slopes = tensor_of(HEED_F32, {4})),
          PROVOKE(heed_layer_initialize(layer, &inputs, 42), inputs.queries = shape_of(HEED_F16, {2, 3, 6});
                  inputs.keys = inputs.values = NULL; inputs.bias = shape_of(HEED_I32, {3, 3})),
          PROVOKE(heed_layer_create_outputs(dot_product, &inputs, HEED_WANT_OUTPUT, &new_outputs),
                  inputs.queries = tensor_of(HEED_F32, {2, 3, 4});
                  inputs.keys = inputs.values = NULL; inputs.mask = tensor_of(HEED_BOOL, {2, 2, 3, 3})),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs), general.query_size = 5;
                  heed_general_attention_create(context, &general, &new_layer)),
          PROVOKE(heed_layer_forward(new_layer, &inputs, NULL, &outputs),
                  heed_dropout_create(context, NULL, &new_layer)),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs),
                  heed_dropout_create(context, NULL, &new_layer);
                  inputs.queries = tensor_of(HEED_F32, {}); inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_workspace_size(layer, &inputs, &new_outputs, &num_bytes),
                  inputs.queries = shape_of(HEED_F32, {1, INT64_MAX / 64, 6});
                  inputs.keys = shape_of(HEED_F32, {1, 5, 7}); inputs.values = shape_of(HEED_F32, {1, 5, 9});
                  new_outputs.log_sum_exp = shape_of(HEED_F32, {1, 2, INT64_MAX / 64})),
          PROVOKE(heed_layer_workspace_size(layer, &inputs, &new_outputs, &num_bytes), options.num_heads = 1;
                  layer = layer_with(options); inputs.queries = shape_of(HEED_F32, {1, INT64_MAX / 8 + 1, 1});
                  inputs.keys = inputs.values = NULL; heed_layer_initialize(layer, &inputs, 42);
                  new_outputs.log_sum_exp = shape_of(HEED_F32, {1, 1, INT64_MAX / 8 + 1})),
          PROVOKE(heed_layer_workspace_size(new_layer, &inputs, &new_outputs, &num_bytes),
                  dot_product_options.dropout = 0.5f;
                  inputs.training = 1; heed_dot_product_attention_create(context, &dot_product_options, &new_layer);
                  inputs.queries = new_outputs.output = shape_of(HEED_F32, {1, 4294967297, 1});
                  inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_workspace_size(dot_product, &inputs, &new_outputs, &num_bytes),
                  inputs.queries = new_outputs.output = shape_of(HEED_F32, {1, 1, 1099511627777});
                  inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_workspace_size(dot_product, &inputs, &new_outputs, &num_bytes),
                  inputs.queries = inputs.keys = shape_of(HEED_F32, {1, 1, 4});
                  inputs.values = new_outputs.output = shape_of(HEED_F32, {1, 1, 1099511627777})),
      }};
}

}  // namespace heed::errors_test
