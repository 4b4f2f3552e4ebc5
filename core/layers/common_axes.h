// SPDX-License-Identifier: Apache-2.0
// The axes of two tensors of any rank, as few as their strides admit.
#pragma once

#include <cstdint>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace heed {

struct CommonAxis {
  int64_t size = 1;
  int64_t input_stride = 0;
  int64_t output_stride = 0;
};

// Axes that an input and an output step through together.
struct CommonAxes {
  Shape sizes;
  Dims input_strides{};
  Dims output_strides{};

  void append(const CommonAxis& axis);
  // Takes the longest away: one of size 1 where none is left.
  CommonAxis take_longest();
};

// The first axes of two tensors that agree in these, in their order: without those of size 1, neighbours in one where
// both tensors step through them evenly, and a single one of size 0 where the output has no elements.
CommonAxes common_axes(const Tensor& input, const Tensor& output, int32_t num_axes);

}  // namespace heed
