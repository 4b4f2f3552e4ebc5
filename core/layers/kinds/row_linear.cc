// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/row_linear.h"

#include "layers/common_axes.h"

namespace heed {

LinearPart& add_row_linear(Schedule& schedule, const char* operation, const ProjectionParameters& parameters,
                           const Value& input, const Value& output) {
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
  set_parameters(schedule, part, parameters);
  schedule.set_operand(part.output, output, {-1, -1, -1, last});
  linear.input.strides[1] = batch.input_stride;
  linear.input.strides[2] = rows.input_stride;
  part.output.strides[1] = batch.output_stride;
  part.output.strides[2] = rows.output_stride;
  return part;
}

LinearPart& add_row_linear(Schedule& schedule, const char* operation, const ProjectionParameters& parameters,
                           const Value& input, const Value& output, const Value& addend, const KeyLimits* row_limits) {
  const int32_t last = input.rank() - 1;
  const int32_t batch = last == 2 ? 0 : -1;
  LinearProblem& linear = schedule.add_linear(operation);
  linear.batch = last == 2 ? input.dim(0) : 1;
  linear.rows = input.dim(last - 1);
  linear.input_size = input.dim(last);
  schedule.set_operand(linear.input, input, {-1, batch, last - 1, last});
  LinearPart& part = linear.parts[0];
  set_parameters(schedule, part, parameters);
  schedule.set_operand(part.output, output, {-1, batch, last - 1, last});
  if (addend.is_given()) schedule.set_operand(part.addend, addend, {-1, batch, last - 1, last});
  if (row_limits != nullptr) {
    linear.limits = *row_limits;
    part.wanted_rows = WantedRows::Queries;
    part.zeroes_unwanted = 1;
  }
  return part;
}

}  // namespace heed
