// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/dropout.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "layers/common_axes.h"
#include "ops/dropout.h"

namespace heed {

Dropout::Dropout(std::shared_ptr<Context> context, const DropoutOptions& options)
    : Layer(std::move(context), {}), options_(options) {
  check_dropout(options.dropout);
}

LayerInputs Dropout::check_tensors(const LayerInputs& inputs) const {
  check_one_input(inputs, kind(), context()->device_name());
  return inputs;
}

void Dropout::check(Schedule&, Purpose, LayerCall& call) const {
  call.shapes.dtype = call.inputs.queries.dtype();
  call.shapes.output = call.inputs.queries.shape();
}

DropoutProblem& add_dropout(Schedule& schedule, const char* operation, const Value& input, const Value& output,
                            uint64_t seed, float dropout) {
  DropoutProblem& problem = schedule.add_dropout(operation);
  schedule.set_array(problem.input, input);
  schedule.set_array(problem.output, output);
  // The merged axes become the last axes of the problem, since backends split it into rows along the last axis.
  const CommonAxes axes = common_axes(input, output, input.rank());
  const auto num_axes = static_cast<size_t>(axes.sizes.rank);
  for (size_t axis = 0; axis < num_axes; ++axis) {
    const size_t index = kElementwiseRank - num_axes + axis;
    problem.sizes[index] = axes.sizes.dims[axis];
    problem.input.strides[index] = axes.input_strides[axis];
    problem.output.strides[index] = axes.output_strides[axis];
  }
  problem.seed = seed;
  problem.dropout = dropout;
  return problem;
}

void Dropout::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const AttentionInputs& others = *call.inputs.others;
  const Value& input = call.inputs.queries;
  const float dropout = others.training ? options_.dropout : 0.0f;
  DropoutProblem& problem = add_dropout(schedule, "dropout", input, outputs.output, others.dropout_seed, dropout);
  if (!outputs.addend.is_given()) return;
  // Three arrays: their axes stay apart.
  std::fill_n(problem.sizes, kElementwiseRank, 1);
  std::ranges::copy_n(input.shape().dims.begin(), input.rank(), problem.sizes + kElementwiseRank - input.rank());
  schedule.set_elementwise(problem.input, input);
  schedule.set_elementwise(problem.output, outputs.output);
  schedule.set_elementwise(problem.addend, outputs.addend);
  if (call.row_limits == nullptr) return;
  problem.has_limits = 1;
  problem.limits = *call.row_limits;
}

void Dropout::write_options(JsonWriter& json) const { json.member("dropout", options_.dropout); }

}  // namespace heed
