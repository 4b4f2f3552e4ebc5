// SPDX-License-Identifier: Apache-2.0
#include "layers/dropout.h"

#include <cstddef>
#include <utility>

#include "layers/common_axes.h"
#include "ops/dropout.h"

namespace heed {
namespace {

ElementwiseOperand operand_of(const Tensor& tensor) {
  ElementwiseOperand operand;
  operand.data = tensor.data();
  operand.dtype = tensor.dtype();
  operand.given = 1;
  return operand;
}

}  // namespace

Dropout::Dropout(std::shared_ptr<Context> context, const DropoutOptions& options)
    : Layer(std::move(context), {}), options_(options) {
  check_dropout(options.dropout);
}

CheckedInputs Dropout::check(const LayerInputs& inputs, Purpose) const {
  check_one_input(inputs, kind(), context()->device_name());
  CheckedInputs result{inputs, {}};
  result.shapes.dtype = inputs.queries->dtype();
  result.shapes.output = inputs.queries->shape();
  return result;
}

void Dropout::compose(const CheckedInputs& call, const LayerOutputs& outputs, Schedule& schedule) const {
  const Tensor& input = *call.inputs.queries;
  const Tensor& output = *outputs.output;
  DropoutProblem& problem = schedule.add_dropout("dropout");
  problem.input = operand_of(input);
  problem.output = operand_of(output);
  // The last is where backends look for the longest rows.
  const CommonAxes axes = common_axes(input, output, input.rank());
  const auto num_axes = static_cast<size_t>(axes.sizes.rank);
  for (size_t axis = 0; axis < num_axes; ++axis) {
    const size_t place = kElementwiseRank - num_axes + axis;
    problem.sizes[place] = axes.sizes.dims[axis];
    problem.input.strides[place] = axes.input_strides[axis];
    problem.output.strides[place] = axes.output_strides[axis];
  }
  problem.seed = call.inputs.dropout_seed;
  problem.dropout = call.inputs.training ? options_.dropout : 0.0f;
}

}  // namespace heed
