// SPDX-License-Identifier: Apache-2.0
#include "layers/host_sequences.h"

#include <cstddef>
#include <memory>

namespace heed {

void bring_to_host(CallSequences& sequences, int64_t batch, Schedule& schedule) {
  // Names every member, so that a new one does not compile until it is handled here.
  auto& [positions, query_lens, query_offsets, key_offsets, key_positions] = static_cast<SequenceInputs&>(sequences);
  positions = on_host(positions, schedule);
  query_lens = on_host(query_lens, schedule);
  query_offsets = on_host(query_offsets, schedule);
  key_offsets = on_host(key_offsets, schedule);
  key_positions = on_host(key_positions, schedule);
  const auto has_data = [](const Tensor* tensor) { return tensor == nullptr || tensor->has_data(); };
  if (!sequences.has_table() || !has_data(query_lens) || !has_data(query_offsets) || !has_data(key_offsets)) return;
  // set_sequences refuses it. The batch may be that of a shape, without memory for as many elements.
  if (query_lens != nullptr && !(query_lens->shape() == Shape{batch})) return;
  sequences.table = schedule.arena().allocate_for<Sequence>(static_cast<size_t>(batch));
  std::uninitialized_value_construct_n(sequences.table, batch);
}

}  // namespace heed
