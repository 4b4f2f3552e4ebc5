// SPDX-License-Identifier: Apache-2.0
// Merges the axes of two arrays of any rank into as few axes as their strides allow.
#pragma once

#include <cstdint>

#include "layers/value.h"
#include "tensor/shape.h"

namespace heed {

struct CommonAxis {
  int64_t size = 1;
  int64_t input_stride = 0;
  int64_t output_stride = 0;
};

// The axes shared by an input and an output, with the strides of both.
struct CommonAxes {
  Shape sizes;
  Dims input_strides{};
  Dims output_strides{};

  void append(const CommonAxis& axis);
  // Removes and returns the longest axis; an axis of size 1 if none remains.
  CommonAxis take_longest();
};

// The first num_axes axes of two arrays; their sizes there must be equal. Axes of size 1 are left out. Two adjacent
// axes are merged if the strides of both arrays allow it. If the output has no elements, the result is one axis of size
// 0.
CommonAxes common_axes(const Value& input, const Value& output, int32_t num_axes);

}  // namespace heed
