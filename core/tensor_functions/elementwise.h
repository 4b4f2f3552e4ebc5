// SPDX-License-Identifier: Apache-2.0
// Functions of the elements of tensors, broadcast.
#pragma once

#include "ops/elementwise_functions.h"
#include "tensor/tensor.h"

namespace heed {

// heed_elementwise; b is null for functions of one element. `result_name` in messages.
void elementwise(ElementFunction function, const Tensor& a, const Tensor* b, const Tensor& result,
                 const char* result_name = "result");

// heed_select.
void select(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& result);

// heed_clip; one of low and high may be null.
void clip(const Tensor& tensor, const Tensor* low, const Tensor* high, const Tensor& result);

}  // namespace heed
