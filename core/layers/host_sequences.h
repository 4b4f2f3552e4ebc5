// SPDX-License-Identifier: Apache-2.0
// Positions, lengths and offsets, which the host reads on every device.
#pragma once

#include <cstdint>

#include "attention/sequences.h"
#include "layers/schedule.h"
#include "tensor/tensor.h"

namespace heed {

// The tensor, or host memory with the same numbers if it has data.
inline const Tensor* on_host(const Tensor* tensor, Schedule& schedule) {
  return tensor != nullptr && tensor->has_data() ? &schedule.on_host(*tensor) : tensor;
}

// Replaces the tensors of `sequences` that have data by host memory with the same numbers and, if the batch is ragged,
// makes room for a Sequence for each batch element. There is no room if a tensor that describes them has no data.
void bring_to_host(CallSequences& sequences, int64_t batch, Schedule& schedule);

}  // namespace heed
