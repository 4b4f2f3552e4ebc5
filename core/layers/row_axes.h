// SPDX-License-Identifier: Apache-2.0
// The rows of a tensor of any rank, as few axes as its strides admit.
#pragma once

#include <cstdint>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace heed {

struct RowAxis {
  int64_t size = 1;
  int64_t input_stride = 0;
  int64_t output_stride = 0;
};

// Axes that an input and an output step through together.
struct RowAxes {
  Shape sizes;
  Dims input_strides{};
  Dims output_strides{};

  void append(const RowAxis& axis);
  // Takes the longest away: one of size 1 where none is left.
  RowAxis take_longest();
};

// The axes before the last of two tensors that agree in these: without those of size 1, neighbours in one where both
// tensors step through them evenly, and a single one of size 0 where the output has no elements.
RowAxes row_axes(const Tensor& input, const Tensor& output);

}  // namespace heed
