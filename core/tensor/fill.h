// SPDX-License-Identifier: Apache-2.0
// Sets every element of a tensor: to one number, to a sequence, to random numbers. Numbers are computed in f64, in
// row-major order of the elements for any strides, and converted as heed_tensor_copy converts from F64. Throws
// InvalidArgument for invalid arguments, as heed.h says, and for a tensor that is not writable. Nothing here allocates.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace heed {

void fill_tensor(const Tensor& tensor, double value);

// start + i * step.
void fill_arange(const Tensor& tensor, double start, double step);

// The slopes of ALiBi (Press et al., 2022) for as many heads as the tensor has elements, in the order of the heads. The
// tensor has rank 1. docs/semantics.md has the formula, in rule 5.
void fill_alibi_slopes(const Tensor& tensor);

// The formulas are in docs/semantics.md, section "Random numbers".
void fill_uniform(const Tensor& tensor, double low, double high, uint64_t seed);
void fill_normal(const Tensor& tensor, double mean, double standard_deviation, uint64_t seed);

}  // namespace heed
