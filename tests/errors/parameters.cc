// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic layer_parameters() {
  return {"Parameters of layers",
          "",
          {
              PROVOKE(heed_layer_parameter_name(layer, 4)),
              PROVOKE(heed_layer_parameter(layer, "W_q.bias", &new_tensor)),
              PROVOKE(heed_layer_parameter(layer_with(options), "W_q.weight", &new_tensor)),
              PROVOKE(heed_layer_initialize(layer, &inputs, 42), options.num_hiddens = options.num_heads = 1;
                      layer = layer_with(options); inputs.queries = shape_of(HEED_F32, {1, 1, INT64_MAX / 8});
                      inputs.keys = inputs.values = NULL),
              PROVOKE(heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_F32, {8, 5}))),
              PROVOKE(heed_layer_set_parameter(layer_with(options), "W_q.weight", tensor_of(HEED_F32, {7, 5}))),
              PROVOKE(heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_I32, {8, 6}))),
          }};
}

}  // namespace heed::errors_test
