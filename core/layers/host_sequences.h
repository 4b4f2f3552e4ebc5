// SPDX-License-Identifier: Apache-2.0
// Positions, lengths and offsets, which the host reads on every device.
#pragma once

#include <cstdint>

#include "attention/sequences.h"
#include "layers/schedule.h"

namespace heed {

// Replaces the tensors of `sequences` that have data by host memory with the same numbers and, if the batch is ragged,
// makes room for a Sequence for each batch element. There is no room if a tensor that describes them has no data.
void bring_to_host(SequenceInputs& sequences, int64_t batch, Schedule& schedule);

}  // namespace heed
