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

// The parameters in their order, and their names.
enum : size_t { kQueryWeight, kKeyWeight, kScoreWeights };
constexpr const char* kParameterNames[] = {"W_q.weight", "W_k.weight", "w_v.weight", nullptr};

// Checks the options and fills in their defaults.
AdditiveAttentionOptions with_defaults(const AdditiveAttentionOptions& given) {
  AdditiveAttentionOptions options = given;
  check_options(options.attention);
  if (options.num_hiddens < 1)
    fail(Status::InvalidArgument, "options->num_hiddens is %" PRId64 ", expected at least 1", options.num_hiddens);
  if (options.attention.scale == 0) options.attention.scale = 1;
  return options;
}

std::vector<Parameter> make_parameters(int64_t num_hiddens) {
  std::vector<Parameter> parameters;
  parameters.emplace_back(kParameterNames[kQueryWeight], Shape{num_hiddens, kOpenDim}, 1, Use::Projection,
                          ProjectedInput::Queries);
  parameters.emplace_back(kParameterNames[kKeyWeight], Shape{num_hiddens, kOpenDim}, 1, Use::Projection,
                          ProjectedInput::Keys);
  parameters.emplace_back(kParameterNames[kScoreWeights], Shape{1, num_hiddens}, 1);
  return parameters;
}

}  // namespace

AdditiveAttention::AdditiveAttention(std::shared_ptr<Context> context, const AdditiveAttentionOptions& options)
    : AttentionLayer(std::move(context), make_parameters(options.num_hiddens), kParameterNames),
      options_(with_defaults(options)) {}

int64_t AdditiveAttention::check_inputs(const InputValues& inputs, OutputShapes& shapes) const {
  const int64_t batch = check_sequences(inputs);
  shapes = shapes_without_heads(inputs);
  return batch;
}

void AdditiveAttention::set_attention(const InputValues& inputs, bool reads_lengths, AttentionProblem& problem) const {
  problem.scoring = Scoring::Additive;
  set_attention_without_heads(inputs, reads_lengths, options_.num_hiddens, options_.attention, problem);
}

void AdditiveAttention::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const InputValues& inputs = call.inputs;
  const Projected projected[] = {
      {ProjectedInput::Queries, {parameter_at(kQueryWeight)}, options_.num_hiddens, queries_wanted(call)},
      {ProjectedInput::Keys, {parameter_at(kKeyWeight)}, options_.num_hiddens, WantedRows::Visible}};
  const auto [queries, keys, values] = project(schedule, inputs, call.attention->limits, projected);

  AttentionProblem& attention = *call.attention;
  schedule.add_attention("attention", attention);
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
