// SPDX-License-Identifier: Apache-2.0
// Normally distributed numbers that are the same on every machine: a uniform number from Philox through the inverse of
// the normal distribution.
#pragma once

#include <cstdint>

namespace heed {

// The value below which a standard normal variable lies with the given probability, for 2^-33 <= probability <= 1 -
// 2^-33, to about 1e-15 relative. Uses IEEE basic operations and square root only (no libm), so that the bits do not
// depend on the machine.
double normal_quantile(double probability);

// The standard normal number that a random word stands for: the quantile at the middle of the word's interval, which is
// never 0 and never 1.
inline double normal_of(uint32_t word) { return normal_quantile((word + 0.5) * 0x1p-32); }

// Element `index` of a standard normal sequence for a layer's initialization; `stream` tells its parameters apart.
double normal_number(uint64_t seed, uint32_t stream, uint64_t index);

}  // namespace heed
