// SPDX-License-Identifier: Apache-2.0
// Functions of the elements of tensors, broadcast.
#pragma once

#include "ops/elementwise_functions.h"
#include "tensor/tensor.h"

namespace heed {

// The C function that is called, and what it calls its result, for messages.
struct CalledAs {
  const char* function;
  const char* result = "result";
};

// heed_elementwise, heed_compare and the four rules of arithmetic; b is null for functions of one element.
void elementwise(ElementFunction function, const Tensor& a, const Tensor* b, const Tensor& result,
                 const CalledAs& called_as);

// heed_select.
void select(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& result);

// heed_clip; one of low and high may be null.
void clip(const Tensor& tensor, const Tensor* low, const Tensor* high, const Tensor& result);

}  // namespace heed
