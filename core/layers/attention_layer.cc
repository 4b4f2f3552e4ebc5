// SPDX-License-Identifier: Apache-2.0
#include "layers/attention_layer.h"

#include "tensor/host_image.h"

namespace heed {

CheckedInputs AttentionLayer::check(const LayerInputs& inputs, Purpose purpose) const {
  CheckedInputs result;
  result.inputs = complete_inputs(inputs, owner(), context()->device_name());
  check_inputs(result.inputs, result.shapes);
  LayerInputs seen = result.inputs;
  // On the CPU, where they are already, nothing is made of them.
  if (seen.valid_lens != nullptr && purpose != Purpose::Shapes && seen.valid_lens->has_data() &&
      !seen.valid_lens->is_on_host())
    seen.valid_lens = &result.host_lens.emplace(host_copy(*seen.valid_lens));
  set_attention(seen, purpose, result.attention);
  return result;
}

}  // namespace heed
