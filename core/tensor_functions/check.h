// SPDX-License-Identifier: Apache-2.0
// Checks that every operation on tensors needs. All throw InvalidArgument with the argument's name, its value and the
// expected value.
#pragma once

#include <cstdint>
#include <string>

#include "backends/context.h"
#include "tensor/tensor.h"

namespace heed {

// A tensor with its name in messages.
struct Argument {
  const char* name;
  const Tensor& tensor;
};

// The dtype must be F32, F16 or BF16, and the rank 1 to 8.
void check_input(const Argument& input);

// The rank must be at least 1.
void check_has_axis(const Argument& input);

// The dtype must be I32 or I64.
void check_index_dtype(const Argument& indices);

// The axis counted from 0. Throws for one that the tensor does not have.
int32_t checked_axis(int32_t axis, const Argument& tensor);

void check_same_device(const Argument& argument, const Argument& as);

// The dims must be these. `what` explains them.
void check_shape(const Argument& result, const Shape& expected, const char* what);

// Checks the result's shape, its dtype (the input's, or F32) and its device. `what` explains the expected shape in
// messages, such as "the shape of scores".
void check_result(const Argument& result, const Shape& expected, const char* what, const Argument& input);

// The input must have data; the result must be writable and share no memory with the input.
void check_memory(const Argument& result, const Argument& input);

// The index of element number `position` in row-major order, as text such as "(1, 2)".
std::string index_text(const Shape& shape, int64_t position);

// The context of a tensor.
const Context& context_of(const Tensor& tensor);

}  // namespace heed
