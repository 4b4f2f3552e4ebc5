// SPDX-License-Identifier: Apache-2.0
// Problems of operations in the simulated NPU's memory, without layers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/context.h"
#include "ops/operand.h"
#include "tensor/tensor.h"

namespace heed {

inline ContextOptions simulated_npu(bool allow_reduced_precision = true) {
  ContextOptions options;
  options.device = DeviceKind::Ascend;
  options.allow_reduced_precision = allow_reduced_precision;
  return options;
}

// A tensor of these numbers. The dtype must represent them exactly.
Tensor tensor_of(const std::shared_ptr<Context>& context, DType dtype, const Shape& shape,
                 const std::vector<float>& numbers);

std::vector<float> numbers_of(const Tensor& tensor);

// The whole tensor, with rows that are `row_stride` elements apart in the last two axes.
template <int rank>
void set(StridedOperand<rank>& operand, const Tensor& tensor, int64_t row_stride) {
  operand.data = tensor.data();
  operand.dtype = tensor.dtype();
  operand.given = 1;
  operand.strides[rank - 2] = row_stride;
  operand.strides[rank - 1] = 1;
}

// Computes the problem as its plan says, and returns the output.
std::vector<float> run(const std::shared_ptr<Context>& context, const Op& op, const Tensor& output);

}  // namespace heed
