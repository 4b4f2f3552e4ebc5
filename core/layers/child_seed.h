// SPDX-License-Identifier: Apache-2.0
// The seeds of the dropout in layers that are made of others (docs/semantics.md, "Random numbers").
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace heed {

// The seed of layer `number` below the called layer, counted from 0 in pre-order.
inline uint64_t child_seed(uint64_t called_seed, uint32_t number) {
  const PhiloxCounter words = philox4x32({number, 0, 0, kChildUse}, called_seed);
  return words[0] | uint64_t{words[1]} << 32;
}

}  // namespace heed
