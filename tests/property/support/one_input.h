// SPDX-License-Identifier: Apache-2.0
// Calls of layers that read one tensor and write one.
#pragma once

#include <optional>
#include <vector>

#include "support/host_tensor.h"

namespace heed::property {

struct OneInputCall {
  Input input;
  heed_dtype dtype = HEED_F32;  // of the output
  Dims output_strides;          // row-major where empty
  uint64_t dropout_seed = 0;
  int32_t training = 0;
  bool with_workspace = false;
  // Of positional encodings.
  std::optional<Input> positions = {};
  std::optional<Input> query_offsets = {};
};

struct OneOutput {
  Array contents;
  std::vector<uint8_t> bytes;
};

// Runs the layer with an output of the dims that heed_layer_create_outputs reports, and checks that it writes nothing
// but the elements.
OneOutput forward(heed_context* context, const heed_layer* layer, const OneInputCall& call);

}  // namespace heed::property
