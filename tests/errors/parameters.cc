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
              PROVOKE(heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_F32, {8, 5}))),
              PROVOKE(heed_layer_set_parameter(layer_with(options), "W_q.weight", tensor_of(HEED_F32, {7, 5}))),
              PROVOKE(heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_I32, {8, 6}))),
              PROVOKE(heed_layer_load(layer, file("{'W_q.bias':{'dtype':'F32','shape':[8],'data_offsets':[0,32]}}", 32),
                                      NULL)),
              PROVOKE(heed_layer_load(layer, file("{}", 0), "encoder.attention")),
              PROVOKE(heed_layer_load(
                  layer, file("{'W_q.weight':{'dtype':'F32','shape':[8,5],'data_offsets':[0,160]}}", 160), NULL)),
          }};
}

}  // namespace heed::errors_test
