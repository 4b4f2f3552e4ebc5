// SPDX-License-Identifier: Apache-2.0
// What every operation on tensors asks of them. Everything throws InvalidArgument with the argument's name, what it was
// and what was expected.
#pragma once

#include "backends/context.h"
#include "tensor/tensor.h"

namespace heed {

// A tensor with the name that messages call it by.
struct Argument {
  const char* name;
  const Tensor& tensor;
};

// One of the dtypes that are computed with, and rank 1 to 8.
void check_input(const Argument& input);

void check_same_device(const Argument& argument, const Argument& as);

// The result's shape, its dtype (the input's, or F32), and its device. `what` says what has that shape, as "the shape
// of scores".
void check_result(const Argument& result, const Shape& expected, const char* what, const Argument& input);

// The result can be written, and shares no memory with the input, which has data.
void check_memory(const Argument& result, const Argument& input);

// The open device that a tensor lies on.
const Context& context_of(const Tensor& tensor);

}  // namespace heed
