// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/additive_attention.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layers/backward/added_gradients.h"
#include "layers/kinds/backward/attention_backward.h"
#include "layers/kinds/backward/linear_backward.h"
#include "layers/kinds/projection.h"

namespace heed {
namespace {

// In LayerCall::saved of a call with a backward.
enum : size_t { kSavedQueries = kFirstSavedOfKind, kSavedKeys };

// The parameters, in the order of the table.
enum : size_t { kQueryWeight, kKeyWeight, kScoreWeights };
constexpr PossibleParameter kParameters[] = {
    {.name = "W_q.weight", .use = Use::Projection},
    {.name = "W_k.weight", .use = Use::Projection},
    {.name = "w_v.weight"},
};

// Checks the options and fills in their defaults.
AdditiveAttentionOptions with_defaults(const AdditiveAttentionOptions& given) {
  AdditiveAttentionOptions options = given;
  check_options(options.attention);
  if (options.num_hiddens < 1)
    fail(Status::InvalidArgument, OPTION("num_hiddens") " is %" PRId64 ", expected at least 1", options.num_hiddens);
  if (options.attention.scale == 0) options.attention.scale = 1;
  return options;
}

std::vector<Parameter> make_parameters(int64_t num_hiddens) {
  std::vector<Parameter> parameters;
  parameters.emplace_back(kParameters[kQueryWeight], Shape{num_hiddens, kOpenDim}, 1, ProjectedInput::Queries);
  parameters.emplace_back(kParameters[kKeyWeight], Shape{num_hiddens, kOpenDim}, 1, ProjectedInput::Keys);
  parameters.emplace_back(kParameters[kScoreWeights], Shape{1, num_hiddens});
  return parameters;
}

}  // namespace

AdditiveAttention::AdditiveAttention(std::shared_ptr<Context> context, const AdditiveAttentionOptions& options)
    : AttentionLayer(std::move(context), make_parameters(options.num_hiddens), kParameters),
      options_(with_defaults(options)) {}

int64_t AdditiveAttention::check_inputs(const InputValues& inputs, OutputShapes& shapes) const {
  const int64_t batch = check_sequences(inputs);
  shapes = shapes_without_heads(inputs);
  return batch;
}

void AdditiveAttention::set_attention(const InputValues& inputs, AttentionProblem& problem) const {
  problem.scoring = Scoring::Additive;
  set_attention_without_heads(inputs, options_.num_hiddens, problem);
}

void AdditiveAttention::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const InputValues& inputs = call.inputs;
  const Projected projected[] = {
      {ProjectedInput::Queries, {parameter_at(kQueryWeight)}, options_.num_hiddens, queries_wanted(call)},
      {ProjectedInput::Keys, {parameter_at(kKeyWeight)}, options_.num_hiddens, WantedRows::Visible}};
  const auto [queries, keys, values] = project(schedule, inputs, call.attention->limits, projected);

  AttentionProblem& attention = *call.attention;
  schedule.add("attention", attention);
  const int32_t batch = batch_axis(inputs);
  schedule.set_operand(attention.queries, queries, {batch, 1, 2, 3});
  schedule.set_operand(attention.keys, keys, {batch, 1, 2, 3});
  schedule.set_operand(attention.score_weights, parameter_at(kScoreWeights).value(), {-1, 0, -1, 1});
  const OutputValues results = saved_results(schedule, call, outputs);
  set_values_and_results(schedule, attention, inputs, results);
  if (call.saved != nullptr) std::ranges::copy(std::array{queries, keys}, call.saved + kSavedQueries);
  add_copies_of_results(schedule, results, outputs);
}

void AdditiveAttention::compose_backward(Schedule& schedule, const LayerCall& call,
                                         const GradientValues& gradients) const {
  const InputValues& inputs = call.inputs;
  const Value of_queries = reserve_rows(schedule, inputs.queries, 1, options_.num_hiddens);
  const Value of_keys = reserve_rows(schedule, inputs.keys, 1, options_.num_hiddens);
  const int32_t batch = batch_axis(inputs);
  AttentionBackwardProblem& problem = add_attention_backward(schedule, call, gradients);
  schedule.set_operand(problem.forward.queries, call.saved[kSavedQueries], {batch, 1, 2, 3});
  schedule.set_operand(problem.forward.keys, call.saved[kSavedKeys], {batch, 1, 2, 3});
  set_heads(schedule, problem.queries_gradient, of_queries, 1, options_.num_hiddens);
  set_heads(schedule, problem.keys_gradient, of_keys, 1, options_.num_hiddens);
  set_sum(schedule, problem, problem.score_weights_gradient, SummedGradient::ScoreWeights,
          gradient_of(call, kScoreWeights), {-1, 0, -1, 1});
  const Value of_values = set_values_backward(schedule, problem, call, gradients);
  const auto add_projection = [&](ProjectedInput input, size_t weight, const Value& of_output, const InputGradient& to,
                                  const char* parameters_operation, const char* input_operation) {
    add_linear_backward(schedule, context(),
                        {.parameters = {parameter_at(weight)},
                         .input = input == ProjectedInput::Queries ? inputs.queries : inputs.keys,
                         .output_gradient = of_output,
                         .weight = gradient_of(call, weight),
                         .input_gradient = to,
                         .rows = rows_with_gradient(call, input),
                         .parameters_operation = parameters_operation,
                         .input_operation = input_operation});
  };
  add_projection(ProjectedInput::Queries, kQueryWeight, of_queries, gradients.queries, kQueryParameters, kQueryInput);
  add_projection(ProjectedInput::Keys, kKeyWeight, of_keys, gradients.keys, kKeyParameters, kKeyInput);
  add_addend(schedule, of_values, gradients.values);
}

void AdditiveAttention::write_options(JsonWriter& json) const {
  json.member("num_hiddens", options_.num_hiddens);
  heed::write_options(options_.attention, json);
}

}  // namespace heed
