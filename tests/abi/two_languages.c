/* SPDX-License-Identifier: Apache-2.0 */
#include "two_languages.h"

heed_status attend_in_c(const heed_layer* layer, const heed_tensor* words, heed_tensor** output) {
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_status status;

  inputs.queries = words;
  status = heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs);
  if (status == HEED_OK) status = heed_layer_forward(layer, &inputs, NULL, &outputs);
  if (status == HEED_OK) {
    *output = outputs.output;
  } else {
    heed_tensor_destroy(outputs.output);
  }
  return status;
}
