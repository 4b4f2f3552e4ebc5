// SPDX-License-Identifier: Apache-2.0
#include "layers/multi_head_attention.h"

#include <cinttypes>
#include <span>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "ops/linear.h"
#include "ops/visible_keys.h"

namespace heed {
namespace {

constexpr const char* kParameterNames[] = {"W_q.weight", "W_q.bias",   "W_k.weight", "W_k.bias",   "W_v.weight",
                                           "W_v.bias",   "W_o.weight", "W_o.bias",   "w_v.weight", nullptr};
// Indices of the weights in kParameterNames. The bias of a projection follows its weight.
enum : size_t { kQueryWeight = 0, kKeyWeight = 2, kValueWeight = 4, kOutputWeight = 6, kScoreWeights = 8 };

void check_size(const char* name, int64_t size) {
  if (size < 0) fail(Status::InvalidArgument, "options->%s is %" PRId64 ", expected at least 0", name, size);
}

// The number of heads times their size: a dim of a parameter.
int64_t all_heads(const char* heads_name, int64_t heads, const char* size_name, int64_t size) {
  int64_t product = 0;
  if (!checked_multiply(heads, size, product)) {
    fail(Status::InvalidArgument,
         "options->%s is %" PRId64 " and options->%s %" PRId64 ", whose product overflows, expected at most 2^63 - 1",
         heads_name, heads, size_name, size);
  }
  return product;
}

// Fills in the defaults and checks the options against each other.
MultiHeadAttentionOptions with_defaults(const MultiHeadAttentionOptions& given) {
  MultiHeadAttentionOptions options = given;
  check_options(options.attention);
  check_size("num_hiddens", options.num_hiddens);
  check_size("num_kv_heads", options.num_kv_heads);
  check_size("head_size", options.head_size);
  check_size("value_head_size", options.value_head_size);
  check_size("output_size", options.output_size);
  if (options.num_heads < 1)
    fail(Status::InvalidArgument, "options->num_heads is %" PRId64 ", expected at least 1", options.num_heads);
  if (options.num_kv_heads == 0) options.num_kv_heads = options.num_heads;
  if (options.num_heads % options.num_kv_heads != 0) {
    fail(Status::InvalidArgument,
         "options->num_heads is %" PRId64 ", which options->num_kv_heads, %" PRId64
         ", does not divide: expected a divisor",
         options.num_heads, options.num_kv_heads);
  }
  if (options.head_size == 0) {
    if (options.num_hiddens == 0)
      fail(Status::InvalidArgument,
           "options->num_hiddens is 0 and so is options->head_size, expected one of them above 0");
    if (options.num_hiddens % options.num_heads != 0) {
      fail(Status::InvalidArgument,
           "options->num_hiddens is %" PRId64 ", which options->num_heads, %" PRId64
           ", does not divide: expected a multiple, or options->head_size above 0",
           options.num_hiddens, options.num_heads);
    }
    options.head_size = options.num_hiddens / options.num_heads;
  }
  if (options.value_head_size == 0) options.value_head_size = options.head_size;
  if (options.biases < 0 || options.biases > kBiasAll) {
    fail(Status::InvalidArgument, "options->biases is %d, expected a set of HEED_BIAS_ bits, 0 to %d", options.biases,
         kBiasAll);
  }
  if (options.no_output_projection) {
    if (options.output_size != 0) {
      fail(Status::InvalidArgument,
           "options->output_size is %" PRId64 ", but options->no_output_projection is set: expected one or the other",
           options.output_size);
    }
    if ((options.biases & kBiasO) != 0) {
      fail(Status::InvalidArgument,
           "options->biases has HEED_BIAS_O, but options->no_output_projection is set: expected one or the other");
    }
    options.output_size = all_heads("num_heads", options.num_heads, "value_head_size", options.value_head_size);
  } else if (options.output_size == 0) {
    if (options.num_hiddens == 0) {
      fail(Status::InvalidArgument,
           "options->num_hiddens is 0, expected above 0, or options->output_size above 0, or "
           "options->no_output_projection 1");
    }
    options.output_size = options.num_hiddens;
  }
  return options;
}

}  // namespace

MultiHeadAttention::Resolved MultiHeadAttention::resolve(const MultiHeadAttentionOptions& given) {
  Resolved result;
  result.options = with_defaults(given);
  const MultiHeadAttentionOptions& options = result.options;
  const int64_t query_size = all_heads("num_heads", options.num_heads, "head_size", options.head_size);
  const int64_t key_size = all_heads("num_kv_heads", options.num_kv_heads, "head_size", options.head_size);
  const int64_t value_size =
      all_heads("num_kv_heads", options.num_kv_heads, "value_head_size", options.value_head_size);
  const int64_t merged_size = all_heads("num_heads", options.num_heads, "value_head_size", options.value_head_size);
  std::vector<Parameter>& parameters = result.parameters;
  const auto add = [&](size_t weight_name, int32_t bias_bit, int64_t num_heads, const Shape& weight,
                       std::optional<ProjectedInput> projected_input) {
    Projection projection;
    projection.weight = parameters.size();
    parameters.emplace_back(kParameterNames[weight_name], weight, num_heads, Use::Projection, projected_input);
    if ((options.biases & bias_bit) != 0) {
      projection.bias = parameters.size();
      parameters.emplace_back(kParameterNames[weight_name + 1], Shape{weight[0]}, num_heads, Use::Other, std::nullopt,
                              Initializer::Zeros);
    }
    return projection;
  };
  ParameterIndices& indices = result.indices;
  indices.queries = add(kQueryWeight, kBiasQ, options.num_heads, {query_size, kOpenDim}, ProjectedInput::Queries);
  indices.keys = add(kKeyWeight, kBiasK, options.num_kv_heads, {key_size, kOpenDim}, ProjectedInput::Keys);
  indices.values = add(kValueWeight, kBiasV, options.num_kv_heads, {value_size, kOpenDim}, ProjectedInput::Values);
  if (!options.no_output_projection)
    indices.output = add(kOutputWeight, kBiasO, options.num_heads, {options.output_size, merged_size}, std::nullopt);
  if (options.scoring == Scoring::Additive) {
    indices.score_weights = parameters.size();
    parameters.emplace_back(kParameterNames[kScoreWeights], Shape{options.num_heads, options.head_size},
                            options.num_heads);
  }
  return result;
}

MultiHeadAttention::MultiHeadAttention(std::shared_ptr<Context> context, const MultiHeadAttentionOptions& options)
    : MultiHeadAttention(std::move(context), resolve(options)) {}

MultiHeadAttention::MultiHeadAttention(std::shared_ptr<Context> context, Resolved resolved)
    : AttentionLayer(std::move(context), std::move(resolved.parameters), kParameterNames),
      options_(resolved.options),
      indices_(resolved.indices) {}

LayerAttention MultiHeadAttention::layer_attention() const {
  return {options_.scoring == Scoring::DotProduct, options_.num_heads, options_.num_kv_heads, options_.head_size,
          options_.attention};
}

void MultiHeadAttention::check_inputs(const InputValues& inputs, OutputShapes& shapes) const {
  check_sequences(inputs);
  const Value& queries = inputs.queries;
  const int64_t num_keys = inputs.keys.dim(1);
  shapes.dtype = queries.dtype();
  shapes.output = {queries.dim(0), queries.dim(1), options_.output_size};
  shapes.weights.emplace({queries.dim(0), options_.num_heads, queries.dim(1), num_keys});
  shapes.log_sum_exp.emplace({queries.dim(0), options_.num_heads, queries.dim(1)});
}

ProjectionParameters MultiHeadAttention::parameters_of(const Projection& projection) const {
  return {parameter_at(projection.weight), projection.bias ? &parameter_at(*projection.bias) : nullptr};
}

void MultiHeadAttention::set_attention(const InputValues& inputs, bool reads_lengths, AttentionProblem& problem) const {
  problem.batch = inputs.queries.dim(0);
  problem.num_heads = options_.num_heads;
  problem.num_kv_heads = options_.num_kv_heads;
  problem.limits = unlimited(inputs.queries.dim(1), inputs.keys.dim(1));
  problem.head_size = options_.head_size;
  problem.value_head_size = options_.value_head_size;
  problem.scoring = options_.scoring;
  set_visibility(problem, *inputs.others, inputs.queries.dtype(), options_.attention, true, reads_lengths);
}

void MultiHeadAttention::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  // Weights and log_sum_exp do not depend on values.
  const bool needs_values = outputs.output.is_given();
  const Projected projected[] = {
      {ProjectedInput::Queries, parameters_of(indices_.queries), options_.head_size},
      {ProjectedInput::Keys, parameters_of(indices_.keys), options_.head_size, WantedRows::Visible},
      {ProjectedInput::Values, parameters_of(indices_.values), options_.value_head_size, values_read(*call.attention)}};
  const auto [queries, keys, values] =
      project(schedule, call.inputs, call.attention->limits, std::span(projected, needs_values ? 3 : 2));

  AttentionProblem& attention = *call.attention;
  schedule.add_attention("attention", attention);
  schedule.set_operand(attention.queries, queries, {0, 1, 2, 3});
  schedule.set_operand(attention.keys.rows, keys, {0, 1, 2, 3});
  if (options_.scoring == Scoring::Additive)
    schedule.set_operand(attention.score_weights, parameter_at(indices_.score_weights).value(), {-1, 0, -1, 1});
  if (needs_values) schedule.set_operand(attention.values.rows, values, {0, 1, 2, 3});
  if (outputs.weights.is_given()) schedule.set_operand(attention.weights, outputs.weights, {0, 1, 2, 3});
  if (outputs.log_sum_exp.is_given()) schedule.set_operand(attention.log_sum_exp, outputs.log_sum_exp, {0, 1, 2, -1});
  if (!needs_values) return;

  if (options_.no_output_projection) {
    // The output (B, Q, H * D) as (B, H, Q, D).
    schedule.set_operand(attention.output, outputs.output, {0, -1, 1, 2});
    attention.output.strides[1] = options_.num_heads == 1 ? 0 : options_.value_head_size * outputs.output.stride(2);
    attention.output.strides[3] = outputs.output.stride(2);
    return;
  }
  const Value merged = reserve_rows(schedule, attention.batch, attention.limits.num_queries, options_.num_heads,
                                    options_.value_head_size);
  schedule.set_operand(attention.output, merged, {0, 1, 2, 3});
  LinearProblem& linear = schedule.add_linear("project output");
  linear.batch = attention.batch;
  linear.rows = attention.limits.num_queries;
  linear.input_size = options_.num_heads * options_.value_head_size;
  schedule.set_operand(linear.input, merged, {-1, 0, 2, 3});
  set_parameters(schedule, linear.parts[0], parameters_of(indices_.output));
  schedule.set_operand(linear.parts[0].output, outputs.output, {-1, 0, 1, 2});
}

void MultiHeadAttention::write_options(JsonWriter& json) const {
  json.member("num_hiddens", options_.num_hiddens);
  json.member("num_heads", options_.num_heads);
  json.member("num_kv_heads", options_.num_kv_heads);
  json.member("head_size", options_.head_size);
  json.member("value_head_size", options_.value_head_size);
  // Options without an output projection require an output_size of 0.
  json.member("output_size", options_.no_output_projection ? 0 : options_.output_size);
  json.member("no_output_projection", options_.no_output_projection);
  json.key("biases");
  json.begin_array();
  constexpr std::pair<int32_t, const char*> kBits[] = {{kBiasQ, "q"}, {kBiasK, "k"}, {kBiasV, "v"}, {kBiasO, "o"}};
  for (const auto& [bit, name] : kBits) {
    if ((options_.biases & bit) != 0) json.value(name);
  }
  json.end_array();
  json.member("scoring", options_.scoring == Scoring::Additive ? "additive" : "dot_product");
  heed::write_options(options_.attention, json);
}

}  // namespace heed
