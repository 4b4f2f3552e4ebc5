// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/row_linear.h"

#include "layers/common_axes.h"

namespace heed {
namespace {

// For arrays (B, S, E) or (S, E), whose axes stay apart.
LinearProblem& add_with_batch(Schedule& schedule, const char* operation, const Value& input, const Value& output,
                              const Value& addend) {
  const int32_t last = input.rank() - 1;
  const int32_t batch = last == 2 ? 0 : -1;
  LinearProblem& linear = schedule.add<LinearProblem>(operation);
  linear.batch = last == 2 ? input.dim(0) : 1;
  linear.rows = input.dim(last - 1);
  linear.input_size = input.dim(last);
  schedule.set_operand(linear.input, input, {-1, batch, last - 1, last});
  LinearPart& part = linear.parts[0];
  schedule.set_operand(part.output, output, {-1, batch, last - 1, last});
  if (addend.is_given()) schedule.set_operand(part.addend, addend, {-1, batch, last - 1, last});
  return linear;
}

}  // namespace

LinearPart& add_row_linear(Schedule& schedule, const char* operation, const Value& input, const Value& output,
                           const Value& addend) {
  if (addend.is_given() && !same_source(addend, output))
    return add_with_batch(schedule, operation, input, output, addend).parts[0];
  const int32_t last = input.rank() - 1;
  // A linear problem has two axes of rows. It gets the two longest, so that each run reuses the weight for as many rows
  // as possible; there is one run for each index of the other axes.
  CommonAxes outer_axes = common_axes(input, output, last);
  const CommonAxis rows = outer_axes.take_longest();
  const CommonAxis batch = outer_axes.take_longest();
  LinearProblem& linear = schedule.add_linear(operation, outer_axes);
  linear.batch = batch.size;
  linear.rows = rows.size;
  linear.input_size = input.dim(last);
  schedule.set_operand(linear.input, input, {-1, -1, -1, last});
  LinearPart& part = linear.parts[0];
  schedule.set_operand(part.output, output, {-1, -1, -1, last});
  linear.input.strides[1] = batch.input_stride;
  linear.input.strides[2] = rows.input_stride;
  part.output.strides[1] = batch.output_stride;
  part.output.strides[2] = rows.output_stride;
  if (addend.is_given()) {
    schedule.set_operand(part.addend, addend, {-1, -1, -1, last});
    for (int axis = 0; axis < kOperandRank; ++axis) part.addend.strides[axis] = part.output.strides[axis];
  }
  return part;
}

LinearPart& add_row_linear(Schedule& schedule, const char* operation, const Value& input, const Value& output,
                           const Value& addend, const ComputedRows& rows) {
  LinearProblem& linear = add_with_batch(schedule, operation, input, output, addend);
  LinearPart& part = linear.parts[0];
  if (rows.limits == nullptr) return part;
  linear.limits = *rows.limits;
  part.wanted_rows = rows.wanted;
  part.zeroes_unwanted = rows.zeroes_others ? 1 : 0;
  return part;
}

LinearPart& add_row_linear(Schedule& schedule, const char* operation, const ProjectionParameters& parameters,
                           const Value& input, const Value& output) {
  LinearPart& part = add_row_linear(schedule, operation, input, output, Value());
  set_parameters(schedule, part, parameters);
  return part;
}

LinearPart& add_row_linear(Schedule& schedule, const char* operation, const ProjectionParameters& parameters,
                           const Value& input, const Value& output, const Value& addend, const KeyLimits* row_limits) {
  LinearPart& part = add_row_linear(schedule, operation, input, output, addend, ComputedRows{row_limits});
  set_parameters(schedule, part, parameters);
  return part;
}

}  // namespace heed
