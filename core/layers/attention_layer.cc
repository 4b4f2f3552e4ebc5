// SPDX-License-Identifier: Apache-2.0
#include "layers/attention_layer.h"

namespace heed {

CheckedInputs AttentionLayer::check(const LayerInputs& inputs, Purpose purpose) const {
  CheckedInputs result;
  result.inputs = complete_inputs(inputs, context()->device_name());
  check_inputs(result.inputs, result.shapes);
  set_attention(result.inputs, purpose, result.attention);
  return result;
}

}  // namespace heed
