// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/general_attention.h"

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
constexpr size_t kSavedKeys = kFirstSavedOfKind;

constexpr PossibleParameter kParameters[] = {{.name = "W.weight", .use = Use::Projection}};

// Checks the options and fills in their defaults.
GeneralAttentionOptions with_defaults(const GeneralAttentionOptions& given) {
  GeneralAttentionOptions options = given;
  check_options(options.attention);
  if (options.query_size < 1)
    fail(Status::InvalidArgument, OPTION("query_size") " is %" PRId64 ", expected at least 1", options.query_size);
  if (options.attention.scale == 0) options.attention.scale = 1;
  return options;
}

std::vector<Parameter> make_parameters(int64_t query_size) {
  std::vector<Parameter> parameters;
  parameters.emplace_back(kParameters[0], Shape{query_size, kOpenDim}, 1, ProjectedInput::Keys);
  return parameters;
}

}  // namespace

GeneralAttention::GeneralAttention(std::shared_ptr<Context> context, const GeneralAttentionOptions& options)
    : AttentionLayer(std::move(context), make_parameters(options.query_size), kParameters),
      options_(with_defaults(options)) {}

int64_t GeneralAttention::check_inputs(const InputValues& inputs, OutputShapes& shapes) const {
  const int64_t batch = check_sequences(inputs);
  const int32_t last = inputs.queries.rank() - 1;
  if (inputs.queries.dim(last) != options_.query_size) {
    fail(Status::InvalidArgument,
         INPUT("queries") " has " ARGUMENT("dims") " %s, expected %" PRId64
                                                   " elements in a row, the " WORD("layer") "'s " OPTION("query_size"),
         to_string(inputs.queries.shape()).c_str(), options_.query_size);
  }
  shapes = shapes_without_heads(inputs);
  return batch;
}

void GeneralAttention::set_attention(const InputValues& inputs, AttentionProblem& problem) const {
  set_attention_without_heads(inputs, options_.query_size, problem);
}

void GeneralAttention::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const InputValues& inputs = call.inputs;
  const Projected projected[] = {{ProjectedInput::Keys, {parameter_at(0)}, options_.query_size, WantedRows::Visible}};
  const Value keys = project(schedule, inputs, call.attention->limits, projected)[0];

  AttentionProblem& attention = *call.attention;
  schedule.add("attention", attention);
  const int32_t batch = batch_axis(inputs);
  const int32_t rows = row_axis(inputs);
  schedule.set_operand(attention.queries, inputs.queries, {batch, -1, rows, rows + 1});
  schedule.set_operand(attention.keys, keys, {batch, 1, 2, 3});
  const OutputValues results = saved_results(schedule, call, outputs);
  set_values_and_results(schedule, attention, inputs, results);
  if (call.saved != nullptr) call.saved[kSavedKeys] = keys;
  add_copies_of_results(schedule, results, outputs);
}

void GeneralAttention::compose_backward(Schedule& schedule, const LayerCall& call,
                                        const GradientValues& gradients) const {
  const InputValues& inputs = call.inputs;
  const Value of_queries = written_gradient(schedule, gradients.queries, inputs.queries.shape());
  const Value of_keys = reserve_rows(schedule, inputs.keys, 1, options_.query_size);
  const int32_t batch = batch_axis(inputs);
  const int32_t rows = row_axis(inputs);
  AttentionBackwardProblem& problem = add_attention_backward(schedule, call, gradients);
  schedule.set_operand(problem.forward.queries, inputs.queries, {batch, -1, rows, rows + 1});
  schedule.set_operand(problem.forward.keys, call.saved[kSavedKeys], {batch, 1, 2, 3});
  if (of_queries.is_given()) schedule.set_operand(problem.queries_gradient, of_queries, {batch, -1, rows, rows + 1});
  set_heads(schedule, problem.keys_gradient, of_keys, 1, options_.query_size);
  const Value of_values = set_values_backward(schedule, problem, call, gradients);
  add_addend(schedule, of_queries, gradients.queries);
  add_linear_backward(schedule, context(),
                      {.parameters = {parameter_at(0)},
                       .input = inputs.keys,
                       .output_gradient = of_keys,
                       .weight = gradient_of(call, 0),
                       .input_gradient = gradients.keys,
                       .rows = rows_with_gradient(call, ProjectedInput::Keys),
                       .parameters_operation = kKeyParameters,
                       .input_operation = kKeyInput});
  add_addend(schedule, of_values, gradients.values);
}

void GeneralAttention::write_options(JsonWriter& json) const {
  json.member("query_size", options_.query_size);
  heed::write_options(options_.attention, json);
}

}  // namespace heed
