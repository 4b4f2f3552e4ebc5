// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/dropout.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "layers/backward/added_gradients.h"
#include "layers/common_axes.h"
#include "ops/dropout.h"

namespace heed {

Dropout::Dropout(std::shared_ptr<Context> context, const DropoutOptions& options)
    : Layer(std::move(context), {}), options_(options) {
  check_dropout(options.dropout);
}

void Dropout::check(Schedule&, Purpose, LayerCall& call) const {
  call.shapes.dtype = call.inputs.queries.dtype();
  call.shapes.output = call.inputs.queries.shape();
}

DropoutProblem& add_dropout(Schedule& schedule, const char* operation, const Value& input, const Value& output,
                            uint64_t seed, float dropout) {
  DropoutProblem& problem = schedule.add<DropoutProblem>(operation);
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

DropoutProblem& add_dropout(Schedule& schedule, const char* operation, const Value& input, const Value& output,
                            const Value& addend, uint64_t seed, float dropout) {
  auto& problem = schedule.add<DropoutProblem>(operation);
  // Three arrays: their axes stay apart.
  std::ranges::copy_n(input.shape().dims.begin(), input.rank(), problem.sizes + kElementwiseRank - input.rank());
  schedule.set_elementwise(problem.input, input);
  schedule.set_elementwise(problem.output, output);
  schedule.set_elementwise(problem.addend, addend);
  problem.seed = seed;
  problem.dropout = dropout;
  return problem;
}

void Dropout::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const Value& input = call.inputs.queries;
  const uint64_t seed = call.training.dropout_seed;
  if (!outputs.addend.is_given()) {
    add_dropout(schedule, "dropout", input, outputs.output, seed, dropout_of(call));
    return;
  }
  DropoutProblem& problem =
      add_dropout(schedule, "dropout", input, outputs.output, outputs.addend, seed, dropout_of(call));
  if (call.row_limits == nullptr) return;
  problem.has_limits = 1;
  problem.limits = *call.row_limits;
}

void Dropout::compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const {
  constexpr const char* kOperation = "gradient of dropout's input";
  const auto& [to, addend] = gradients.queries;
  if (!to.is_given()) return;
  const float dropout = dropout_of(call);
  if (!addend.is_given()) {
    add_dropout(schedule, kOperation, gradients.output, to, call.training.dropout_seed, dropout);
  } else if (dropout == 0) {
    add_sum(schedule, kOperation, gradients.output, addend, to);
  } else {
    add_dropout(schedule, kOperation, gradients.output, to, addend, call.training.dropout_seed, dropout);
  }
}

void Dropout::write_options(JsonWriter& json) const { json.member("dropout", options_.dropout); }

}  // namespace heed
