// SPDX-License-Identifier: Apache-2.0
#include "layers/attention_layer.h"

#include "layers/host_sequences.h"

namespace heed {

LayerInputs AttentionLayer::check_tensors(const LayerInputs& inputs) const {
  return complete_inputs(inputs, owner(), context()->device_name());
}

void AttentionLayer::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  const int64_t batch = check_inputs(call.inputs, call.shapes);
  AttentionInputs others = *call.inputs.others;
  const bool reads_lengths = purpose != Purpose::Shapes;
  if (reads_lengths) {
    if (others.valid_lens != nullptr && others.valid_lens->has_data())
      others.valid_lens = &schedule.on_host(*others.valid_lens);
    bring_to_host(others, batch, schedule);
  }
  InputValues inputs = call.inputs;
  inputs.others = &others;
  // Built in the arena: copying a struct that was just written stalls on store forwarding.
  call.attention = &schedule.arena().make<AttentionProblem>();
  set_attention(inputs, reads_lengths, *call.attention);
}

}  // namespace heed
