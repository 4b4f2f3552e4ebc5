// SPDX-License-Identifier: Apache-2.0
// The loops over the elements of gradients. They are compiled for the baseline of the processor: memory is slower.
#pragma once

#include <cstdint>

namespace heed {

// In f64: element i belongs to partial sum i mod 8, each in order; then partial sums in order.
double sum_of_squares(const float* numbers, int64_t count);
bool are_finite(const float* numbers, int64_t count);
void scale_elements(float* numbers, int64_t count, double factor);
void add_elements(float* sums, const float* addends, int64_t count);

}  // namespace heed
