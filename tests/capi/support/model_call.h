// SPDX-License-Identifier: Apache-2.0
// A call of a whole model with ids.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/objects.h"

namespace heed::capi_test {

// Of 2 texts with 5 ids each; a Transformer continues them with 3 ids each.
class ModelCall {
 public:
  explicit ModelCall(const std::string& folder, const heed_context_options* options = nullptr,
                     const heed_model_options* of_model = nullptr);
  ModelCall(const ModelCall&) = delete;
  ModelCall& operator=(const ModelCall&) = delete;

  // Ids of the model, which depend on the seed.
  heed_tensor* ids(const Dims& dims, int32_t seed);
  heed_tensor* keep(Tensor tensor);
  // Makes the output for the inputs.
  void make_output();
  heed_status forward(heed_workspace* workspace = nullptr) const {
    return heed_layer_forward(layer.get(), &inputs, workspace, &outputs);
  }
  // Makes the output, runs and gives its bytes.
  std::vector<uint8_t> run();
  std::vector<float> run_for_floats();

  const Context context;
  Layer layer;
  const bool is_transformer;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;

 private:
  std::vector<Tensor> tensors_;
};

}  // namespace heed::capi_test
