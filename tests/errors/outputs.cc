// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic layer_outputs() {
  return {
      "Outputs of layers, and workspaces",
      "",
      {
          PROVOKE(heed_layer_create_outputs(layer, &inputs, 0, &new_outputs)),
          PROVOKE(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs)),
          PROVOKE(heed_layer_create_outputs(dot_product, &inputs, HEED_WANT_WEIGHTS, &new_outputs),
                  inputs.queries = shape_of(HEED_F32, {1, 4294967296, 1});
                  inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS, &new_outputs),
                  heed_dropout_create(context, NULL, &new_layer);
                  inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &new_outputs)),
          PROVOKE(heed_layer_forward(new_layer, &inputs, NULL, &outputs),
                  heed_dropout_create(context, NULL, &new_layer);
                  inputs.keys = inputs.values = NULL; outputs.output = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), outputs.output = tensor_of(HEED_F32, {2, 3, 7})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), outputs.output = tensor_of(HEED_I32, {2, 3, 8})),
          PROVOKE(heed_layer_workspace_size(layer, &inputs, &outputs, &num_bytes),
                  inputs.queries = shape_of(HEED_F16, {2, 3, 6});
                  inputs.keys = shape_of(HEED_F16, {2, 5, 7}); inputs.values = shape_of(HEED_F16, {2, 5, 9});
                  outputs.output = shape_of(HEED_BF16, {2, 3, 8})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                  outputs.log_sum_exp = tensor_of(HEED_F16, {2, 2, 3})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs), heads.values = NULL;
                  head_outputs.output = (heed_tensor*)heads.queries),
          PROVOKE(heed_layer_forward(layer, &inputs, workspace_of(0), &outputs)),
          PROVOKE(heed_layer_forward(layer, &inputs, new_workspace, &outputs),
                  heed_tensor * large = tensor_of(HEED_F32, {1048576});
                  dims[2] = 6; heed_tensor_view(large, 3, dims, NULL, 0, &new_tensor); inputs.queries = new_tensor;
                  heed_workspace_wrap(context, heed_tensor_data(large), 4194304, &new_workspace)),
          PROVOKE(heed_workspace_wrap(context, NULL, 64, &new_workspace)),
      }};
}

Topic taps() {
  return {"Taps",
          "`use_tap()` makes `tap` the one of `outputs`.",
          {
              PROVOKE(heed_layer_create_tap(layer, &inputs, "layers.0.self_attention", 0, &tap), use_encoder()),
              PROVOKE(heed_layer_create_tap(layer, &inputs, "layers.0.self_attention", HEED_WANT_OUTPUT, &tap),
                      use_encoder()),
              PROVOKE(heed_layer_create_tap(layer, &inputs, "layers.0.self_attention", HEED_WANT_WEIGHTS, &tap),
                      use_encoder();
                      tap.weights = tensor),
              PROVOKE(heed_layer_create_tap(layer, &inputs, "layers.0", HEED_WANT_WEIGHTS, &tap), use_encoder()),
              PROVOKE(heed_layer_create_tap(layer, &inputs, "layers.2", HEED_WANT_WEIGHTS, &tap), use_encoder()),
              PROVOKE(heed_layer_create_tap(layer, &inputs, "encoder.layers.0.self_attention", HEED_WANT_WEIGHTS, &tap),
                      use_transformer();
                      self_attention.memory = inputs.keys; inputs.keys = NULL),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder(); outputs.num_taps = 1),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder(); use_tap()),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder();
                      tap.child = "layers.0.self_attention"; use_tap()),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder(); tap.child = "layers.0.norm1";
                      tap.weights = tensor; use_tap()),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder();
                      tap.child = "layers.0.self_attention"; tap.weights = tensor; use_tap()),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder();
                      tap.child = "layers.1.self_attention"; tap.log_sum_exp = tensor; use_tap()),
          }};
}

}  // namespace heed::errors_test
