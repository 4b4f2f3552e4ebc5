// SPDX-License-Identifier: Apache-2.0
#include "layers/attention_layer.h"

namespace heed {

CheckedInputs AttentionLayer::check(const LayerInputs& inputs, Purpose purpose) const {
  CheckedInputs result;
  result.inputs = complete_inputs(inputs, context()->device_name());
  result.shapes = check_inputs(result.inputs);
  result.attention = attention_problem(result.inputs, purpose);
  return result;
}

}  // namespace heed
