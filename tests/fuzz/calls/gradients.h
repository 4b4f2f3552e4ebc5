// SPDX-License-Identifier: Apache-2.0
// The gradients of a call by all of its parameters and inputs of floats.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace heed::fuzz {

// The bytes of the gradients. Requires that they are the same from what a forward saves, in memory of exactly the sizes that were
// asked for, and that a call which is refused changes none. Nothing if it is refused: as not the fastest, where inputs or parameters
// have 16 bits, or with a bias beside an attention_mask.
std::optional<std::vector<uint8_t>> gradients_of(heed_context* context, heed_layer* layer,
                                                 const heed_layer_inputs& inputs);

}  // namespace heed::fuzz
