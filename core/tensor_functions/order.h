// SPDX-License-Identifier: Apache-2.0
// Sums along an axis, and sorting.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace heed {

// heed_cumulative_sum.
void cumulative_sum(const Tensor& tensor, int32_t axis, const Tensor& result);

// heed_sort; values or indices may be null.
void sort(const Tensor& tensor, int32_t axis, bool descending, const Tensor* values, const Tensor* indices);

// heed_top_k; likewise.
void top_k(const Tensor& tensor, int32_t axis, bool largest, const Tensor* values, const Tensor* indices);

}  // namespace heed
