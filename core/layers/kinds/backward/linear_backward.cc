// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/backward/linear_backward.h"

#include "layers/common_axes.h"
#include "layers/kinds/dropout.h"
#include "layers/kinds/row_linear.h"

namespace heed {
namespace {

// The axes of the rows of both arrays in their order, at most two; with more, both are copied.
CommonAxes axes_of_rows(Schedule& schedule, Value& input, Value& gradient) {
  const int32_t last = input.rank() - 1;
  CommonAxes axes = common_axes(input, gradient, last);
  if (axes.sizes.rank <= 2) return axes;
  for (Value* const value : {&input, &gradient}) {
    const Value copy = schedule.reserve_unsaved(DType::F32, value->shape());
    add_dropout(schedule, "copy rows", *value, copy, 0, 0);
    *value = copy;
  }
  return common_axes(input, gradient, last);
}

void add_parameter_gradients(Schedule& schedule, const LinearBackward& backward) {
  Value input = backward.input;
  Value gradient = backward.output_gradient;
  const CommonAxes axes = axes_of_rows(schedule, input, gradient);
  const int32_t last = input.rank() - 1;
  const auto axis_at = [&axes](int32_t axis) {
    if (axis < 0) return CommonAxis();
    const auto index = static_cast<size_t>(axis);
    return CommonAxis{axes.sizes.dims[index], axes.input_strides[index], axes.output_strides[index]};
  };
  const CommonAxis rows = axis_at(axes.sizes.rank - 1);
  const CommonAxis batch = axis_at(axes.sizes.rank - 2);
  auto& problem = schedule.add<WeightGradientProblem>(backward.parameters_operation);
  problem.batch = batch.size;
  problem.rows = rows.size;
  problem.input_size = input.dim(last);
  problem.output_size = problem.head_size = gradient.dim(last);
  problem.scale = backward.scale;
  schedule.set_operand(problem.input, input, {-1, -1, -1, last});
  schedule.set_operand(problem.output_gradient, gradient, {-1, -1, -1, last});
  problem.input.strides[1] = batch.input_stride;
  problem.input.strides[2] = rows.input_stride;
  problem.output_gradient.strides[1] = batch.output_stride;
  problem.output_gradient.strides[2] = rows.output_stride;
  set_gradients(schedule, problem, backward.weight, backward.bias);
}

// The gradient by the input, without its weight.
LinearPart& add_product(Schedule& schedule, const LinearBackward& backward) {
  const auto& [to, addend] = backward.input_gradient;
  const bool is_sum = addend.is_given() && same_source(addend, to);
  // Rows of queries alone have a gradient, also in an addend; the rows of keys may have one as queries.
  const auto& [limits, wanted] = backward.rows;
  const bool can_leave_out = limits != nullptr && schedule.form().all_rows == 0 &&
                             (is_sum || !addend.is_given() || wanted == WantedRows::Queries);
  if (!can_leave_out) return add_row_linear(schedule, backward.input_operation, backward.output_gradient, to, addend);
  return add_row_linear(schedule, backward.input_operation, backward.output_gradient, to, addend,
                        ComputedRows{limits, wanted, !is_sum});
}

}  // namespace

void set_gradients(Schedule& schedule, WeightGradientProblem& problem, GradientSum* weight, GradientSum* bias) {
  if (weight != nullptr) {
    schedule.set_operand(problem.weight_gradient, weight->to, {-1, -1, 0, 1});
    problem.accumulates_weight = weight->begin() ? 1 : 0;
  }
  if (bias != nullptr) {
    schedule.set_operand(problem.bias_gradient, bias->to, {-1, -1, -1, 0});
    problem.accumulates_bias = bias->begin() ? 1 : 0;
  }
}

void set_transposed(Schedule& schedule, const std::shared_ptr<Context>& context, LinearPart& part,
                    const Parameter& weight) {
  const Tensor& value = weight.value();
  part.output_size = part.head_size = value.dim(1);
  schedule.set_operand(part.weight, value, {-1, -1, 1, 0});
  part.packed = weight.packed_transposed(context);
  part.is_packed = part.packed != nullptr ? 1 : 0;
}

void add_linear_backward(Schedule& schedule, const std::shared_ptr<Context>& context, const LinearBackward& backward) {
  if (backward.weight != nullptr || backward.bias != nullptr) add_parameter_gradients(schedule, backward);
  // Rows may have no elements.
  if (!backward.input_gradient.is_wanted() || backward.input_gradient.to.is_empty()) return;
  LinearPart& part = add_product(schedule, backward);
  set_transposed(schedule, context, part, backward.parameters.weight);
  part.scale = backward.scale;
}

}  // namespace heed
