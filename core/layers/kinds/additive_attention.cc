// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/additive_attention.h"

#include <cinttypes>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layers/kinds/projection.h"

namespace heed {
namespace {

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
  set_values_and_results(schedule, attention, inputs, outputs);
}

void AdditiveAttention::write_options(JsonWriter& json) const {
  json.member("num_hiddens", options_.num_hiddens);
  heed::write_options(options_.attention, json);
}

}  // namespace heed
