// SPDX-License-Identifier: Apache-2.0
// The backward of y = (x W^T + b) * scale over the last axis.
#pragma once

#include <memory>

#include "layers/backward/gradients_of_call.h"
#include "layers/kinds/projection.h"
#include "layers/kinds/row_linear.h"
#include "layers/schedule.h"
#include "layers/value.h"
#include "ops/linear.h"
#include "ops/weight_gradient.h"

namespace heed {

class Context;

// The rows at which a gradient may differ from 0.
struct RowsWithGradient {
  const KeyLimits* limits = nullptr;  // null: all
  WantedRows wanted = WantedRows::Queries;
};

struct LinearBackward {
  ProjectionParameters parameters;
  // x of the forward, of any rank, and the gradient by y, with x's other axes.
  Value input = {};
  Value output_gradient = {};
  float scale = 1;
  // By W, b and x; null or not given: not wanted.
  GradientSum* weight = nullptr;
  GradientSum* bias = nullptr;
  InputGradient input_gradient = {};
  RowsWithGradient rows = {};
  // The names of its operations in explain; static.
  const char* parameters_operation = nullptr;
  const char* input_operation = nullptr;
};

// The names of the projections' operations.
inline constexpr const char* kQueryParameters = "gradients of the queries' projection";
inline constexpr const char* kQueryInput = "gradient of the queries";
inline constexpr const char* kKeyParameters = "gradients of the keys' projection";
inline constexpr const char* kKeyInput = "gradient of the keys";
inline constexpr const char* kValueParameters = "gradients of the values' projection";
inline constexpr const char* kValueInput = "gradient of the values";

// Sets the gradients that the operation writes; null: not wanted.
void set_gradients(Schedule& schedule, WeightGradientProblem& problem, GradientSum* weight, GradientSum* bias);
// Sets the weight of a product by the transposed weight of a projection.
void set_transposed(Schedule& schedule, const std::shared_ptr<Context>& context, LinearPart& part,
                    const Parameter& weight);

// Adds the gradients by the parameters, each one chain of sums over the rows in order, and then the one by the input, a product
// with the transposed weight.
void add_linear_backward(Schedule& schedule, const std::shared_ptr<Context>& context, const LinearBackward& backward);

}  // namespace heed
