// SPDX-License-Identifier: Apache-2.0
// Normally distributed numbers with the same bits on every machine: the quantile of the normal distribution at a
// uniform number from Philox.
#pragma once

#include <cstdint>

namespace heed {

// The quantile of the standard normal distribution, for 2^-33 <= probability <= 1 - 2^-33, with a relative error of
// about 1e-15. Uses the basic operations and the square root of IEEE 754 only, and no libm, so that the bits do not
// depend on the machine.
double normal_quantile(double probability);

// The standard normal number of a random word: the quantile at (word + 1/2) / 2^32, the middle of the word's interval.
// It is never 0 or 1.
inline double normal_of(uint32_t word) { return normal_quantile((word + 0.5) * 0x1p-32); }

// Element `index` of a standard normal sequence for a layer's initialization; each parameter has another `stream`.
double normal_number(uint64_t seed, uint32_t stream, uint64_t index);

}  // namespace heed
