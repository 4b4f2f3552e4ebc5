// SPDX-License-Identifier: Apache-2.0
// The axes of two arrays of any rank, as few as their strides allow.
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

// Axes that an input and an output share, with the strides of both.
struct CommonAxes {
  Shape sizes;
  Dims input_strides{};
  Dims output_strides{};

  void append(const CommonAxis& axis);
  // Removes and returns the longest axis; one of size 1 where none is left.
  CommonAxis take_longest();
};

// The first num_axes axes of two arrays that have the same sizes there, in order. Axes of size 1 are left out.
// Neighbouring axes become one where its stride can be the inner one's in both arrays. Where the output has no elements
// the result is one axis of size 0.
CommonAxes common_axes(const Value& input, const Value& output, int32_t num_axes);

}  // namespace heed
