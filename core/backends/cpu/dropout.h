// SPDX-License-Identifier: Apache-2.0
// Elementwise dropout, and two numbers that every dropout needs. Whether an element is kept is a pure function of its
// row-major index and the seed (docs/semantics.md, "Random numbers"). So the result is the same in any order of
// computation and can be repeated.
#pragma once

#include <cstdint>

namespace heed::cpu {

// An element is kept if its random word is at least this.
uint32_t dropout_threshold(float dropout);
// The factor of kept elements, 1 / (1 - dropout).
float dropout_scale(float dropout);

}  // namespace heed::cpu
