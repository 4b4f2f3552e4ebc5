// SPDX-License-Identifier: Apache-2.0
// What is known of one call of a layer, or of a child in its parent's call.
#pragma once

#include <optional>

#include "layers/inputs.h"
#include "layers/value.h"
#include "ops/attention.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace heed {

// What a layer reads: LayerInputs whose queries, keys and values may be intermediates.
struct InputValues {
  Value queries;
  Value keys;  // as values: not given to a layer that reads one input
  Value values;
  // Lengths, mask, bias and settings, which outlive the call.
  const AttentionInputs* others = nullptr;
};

// What a layer writes: LayerOutputs that may be intermediates.
struct OutputValues {
  Value output;
  Value weights;
  Value log_sum_exp;
};

// The shapes of all outputs for given inputs; the dtype is the inputs', for log_sum_exp F32. Layers that do not attend
// have no weights and no log_sum_exp.
struct OutputShapes {
  DType dtype = DType::F32;
  Shape output;
  std::optional<Shape> weights;
  std::optional<Shape> log_sum_exp;
};

// Inputs that fit the layer and each other, and what `check` has found out for `compose`.
struct LayerCall {
  InputValues inputs;
  OutputShapes shapes;
  // Of layers that attend: sizes and what is visible; compose adds the operands that are attended to and written. The
  // schedule's.
  AttentionProblem* attention = nullptr;
  // Of each child, in order, its part of the call; the schedule's.
  LayerCall* children = nullptr;
};

}  // namespace heed
