// SPDX-License-Identifier: Apache-2.0
#include "layers/host_sequences.h"

#include <cstddef>
#include <memory>

#include "tensor/tensor.h"

namespace heed {

void bring_to_host(SequenceInputs& sequences, int64_t batch, Schedule& schedule) {
  constexpr const Tensor* SequenceInputs::*kMembers[] = {&SequenceInputs::positions, &SequenceInputs::query_lens,
                                                         &SequenceInputs::query_offsets, &SequenceInputs::key_offsets};
  for (const auto member : kMembers) {
    if (sequences.*member != nullptr && (sequences.*member)->has_data())
      sequences.*member = &schedule.on_host(*(sequences.*member));
  }
  const auto has_data = [](const Tensor* tensor) { return tensor == nullptr || tensor->has_data(); };
  if (!sequences.has_table() || !has_data(sequences.query_lens) || !has_data(sequences.query_offsets) ||
      !has_data(sequences.key_offsets))
    return;
  // set_sequences refuses it. The batch may be that of a shape, without memory for as many elements.
  if (sequences.query_lens != nullptr && !(sequences.query_lens->shape() == Shape{batch})) return;
  sequences.table = schedule.arena().allocate_for<Sequence>(static_cast<size_t>(batch));
  std::uninitialized_value_construct_n(sequences.table, batch);
}

}  // namespace heed
