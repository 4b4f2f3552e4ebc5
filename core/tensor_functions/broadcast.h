// SPDX-License-Identifier: Apache-2.0
// Shapes and dtypes of several tensors that are computed element by element, as NumPy broadcasts them.
#pragma once

#include <initializer_list>

#include "ops/operand.h"
#include "tensor/tensor.h"
#include "tensor_functions/check.h"

namespace heed {

// The dims to which all tensors are broadcast. Throws InvalidArgument with both tensors and the axis.
Shape broadcast_shape(std::initializer_list<Argument> tensors);

// The dtype of a result of two numbers (heed.h, 6.9). Throws InvalidArgument for BOOL, I8 and U8, and if there is none.
DType common_dtype(const Argument& a, const Argument& b);

// Throws InvalidArgument unless the dtype is a float or I32 or I64.
void check_number(const Argument& argument);

// Throws InvalidArgument unless the result has that dtype, or F32 where it is F16 or BF16. `what` explains it.
void check_dtype(const Argument& result, DType expected, const char* what);

// For a function of floats of an array with at least one axis, whose result has its shape and dtype and its own memory.
void check_float_function(const Argument& tensor, const Argument& result);

// The result must be writable. It may be the input itself, with the same strides, and otherwise shares no memory with it.
void check_in_place(const Argument& result, const Argument& input);

// Makes the tensor an operand of an operation on `shape`, to which it is broadcast.
void set_broadcast_operand(ElementwiseOperand& operand, const Tensor& tensor, const Shape& shape);

// Orders axes as those of the last operand, the result, are in memory, joins those that are one axis in every operand, and moves
// them to the end, so that rows are long. `sizes` and all strides are of the same axes. The order of elements changes.
void merge_axes(Sizes<kElementwiseRank>& sizes, std::initializer_list<ElementwiseOperand*> operands);

}  // namespace heed
