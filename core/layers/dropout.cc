// SPDX-License-Identifier: Apache-2.0
#include "layers/dropout.h"

#include <cstdint>
#include <utility>

namespace heed {
namespace {

// Aligned at the last axis, which is where backends look for the longest rows.
ElementwiseOperand elementwise_operand_of(const Tensor& tensor) {
  ElementwiseOperand operand;
  operand.data = tensor.data();
  operand.dtype = tensor.dtype();
  operand.given = 1;
  const int32_t first = kElementwiseRank - tensor.rank();
  for (int32_t axis = 0; axis < tensor.rank(); ++axis)
    operand.strides[first + axis] = tensor.dim(axis) == 1 ? 0 : tensor.stride(axis);
  return operand;
}

}  // namespace

Dropout::Dropout(std::shared_ptr<Context> context, const DropoutOptions& options)
    : Layer(std::move(context), {}), options_(options) {
  check_dropout(options.dropout);
}

const char* const* Dropout::possible_parameters() const {
  static constexpr const char* kNone[] = {nullptr};
  return kNone;
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
  DropoutProblem& problem = schedule.add_dropout("dropout");
  problem.input = elementwise_operand_of(input);
  problem.output = elementwise_operand_of(*outputs.output);
  for (int32_t axis = 0; axis < input.rank(); ++axis)
    problem.sizes[kElementwiseRank - input.rank() + axis] = input.dim(axis);
  problem.seed = call.inputs.dropout_seed;
  problem.dropout = call.inputs.training ? options_.dropout : 0.0f;
}

}  // namespace heed
