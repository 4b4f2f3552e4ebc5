// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic weights() {
  return {
      "Weights in files",
      "`names({...})` is a .safetensors file whose tensors have these names and no elements.",
      {
          PROVOKE(heed_layer_load(layer, names({}), NULL)),
          PROVOKE(heed_layer_load(layer, names({"x"}), NULL)),
          PROVOKE(heed_layer_load(layer, names({"x"}), "encoder")),
          PROVOKE(heed_layer_load(layer, names({"encoder.x"}), "encoder")),
          PROVOKE(heed_layer_load(layer, names({"W_q.weight", "W_k.weight"}), NULL)),
          PROVOKE(heed_layer_load(layer, names({"W_q.weight", "W_k.weight", "W_v.weight"}), NULL)),
          PROVOKE(heed_layer_load(layer, names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}), "encoder")),
          PROVOKE(heed_layer_load(
              layer, names({"a.in_proj_weight", "a.out_proj.weight", "b.in_proj_weight", "b.out_proj.weight"}), NULL)),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.biases = HEED_BIAS_Q),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.biases = HEED_BIAS_K),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.biases = HEED_BIAS_V),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.biases = HEED_BIAS_O),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.scoring = HEED_SCORING_ADDITIVE),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.no_output_projection = 1),
          PROVOKE(heed_layer_load(layer, names({"W_q.weight", "W_q.bias", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL)),
          PROVOKE(heed_layer_load(layer, names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "w_v.weight"}),
                                  NULL)),
          PROVOKE(heed_layer_load(
              layer,
              names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "in_proj_weight", "out_proj.weight"}),
              NULL)),
          PROVOKE(heed_layer_load(layer, names({"in_proj_weight", "out_proj.weight", "bias_k"}), NULL)),
          PROVOKE(heed_layer_load(new_layer, names({"fc.weight", "fc.bias"}), "fc"), linear_options.no_bias = 1;
                  heed_linear_create(context, &linear_options, &new_layer)),
          PROVOKE(heed_layer_load(layer_with(options), names({"in_proj_weight", "out_proj.weight"}), NULL),
                  options.num_kv_heads = 1),
          PROVOKE(heed_layer_load(layer,
                                  file("{'W_q.weight':{'dtype':'F32','shape':[8,5],'data_offsets':[0,160]},"
                                       "'W_k.weight':{'dtype':'F32','shape':[8,7],'data_offsets':[160,384]},"
                                       "'W_v.weight':{'dtype':'F32','shape':[8,9],'data_offsets':[384,672]},"
                                       "'W_o.weight':{'dtype':'F32','shape':[8,8],'data_offsets':[672,928]}}",
                                       928),
                                  NULL)),
          PROVOKE(heed_layer_save_memory(layer, memory, 95, &num_bytes)),
      }};
}

}  // namespace heed::errors_test
