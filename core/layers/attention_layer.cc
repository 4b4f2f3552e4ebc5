// SPDX-License-Identifier: Apache-2.0
#include "layers/attention_layer.h"

#include <memory>

namespace heed {

LayerInputs AttentionLayer::check_tensors(const LayerInputs& inputs) const {
  return complete_inputs(inputs, owner(), context()->device_name());
}

void AttentionLayer::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  const int64_t batch = check_inputs(call.inputs, call.shapes);
  AttentionInputs others = *call.inputs.others;
  const bool reads_lengths = purpose != Purpose::Shapes;
  if (reads_lengths) {
    constexpr const Tensor* AttentionInputs::*kOnHost[] = {
        &AttentionInputs::valid_lens, &AttentionInputs::positions, &AttentionInputs::query_lens,
        &AttentionInputs::query_offsets, &AttentionInputs::key_offsets};
    for (const auto member : kOnHost) {
      if (others.*member != nullptr && (others.*member)->has_data())
        others.*member = &schedule.on_host(*(others.*member));
    }
    if (others.has_table()) {
      others.table = schedule.arena().allocate_for<Sequence>(static_cast<size_t>(batch));
      std::uninitialized_value_construct_n(others.table, batch);
    }
  }
  InputValues inputs = call.inputs;
  inputs.others = &others;
  // Built in the arena: copying a struct that was just written stalls on store forwarding.
  call.attention = &schedule.arena().make<AttentionProblem>();
  set_attention(inputs, reads_lengths, *call.attention);
}

}  // namespace heed
