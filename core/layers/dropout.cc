// SPDX-License-Identifier: Apache-2.0
#include "layers/dropout.h"

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

void add_dropout(Schedule& schedule, const char* operation, const Value& input, const Value& output, uint64_t seed,
                 float dropout) {
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
}

void Dropout::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const AttentionInputs& others = *call.inputs.others;
  add_dropout(schedule, "dropout", call.inputs.queries, outputs.output, others.dropout_seed,
              others.training ? options_.dropout : 0.0f);
}

void Dropout::write_options(JsonWriter& json) const { json.member("dropout", options_.dropout); }

}  // namespace heed
