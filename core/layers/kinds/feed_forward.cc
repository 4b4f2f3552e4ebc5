// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/feed_forward.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "attention/options.h"
#include "base/error.h"
#include "layers/kinds/backward/linear_backward.h"
#include "layers/kinds/dropout.h"
#include "layers/kinds/row_linear.h"
#include "ops/activate_backward.h"

namespace heed {
namespace {

// What a call with a backward keeps, in LayerCall::saved: the sums of both first linears before the activation, what the second
// linear reads, and the same before dropout.
enum : size_t { kSavedSum = 0, kSavedGateSum, kSavedHidden, kSavedKept };

// The weights, in the order of the table; the bias of each follows it.
enum : size_t { kFirstWeight = 0, kGateWeight = 2, kSecondWeight = 4 };
constexpr PossibleParameter kFeedForwardParameters[] = {
    {.name = "W_1.weight", .use = Use::Projection},
    {.name = "W_1.bias", .initializer = Initializer::Zeros, .option = SETTING("no_bias", "0")},
    {.name = "W_gate.weight", .use = Use::Projection, .option = SETTING("gated", "1")},
    {.name = "W_gate.bias", .initializer = Initializer::Zeros, .option = SETTING("gated", "1")},
    {.name = "W_2.weight", .use = Use::Projection},
    {.name = "W_2.bias", .initializer = Initializer::Zeros, .option = SETTING("no_bias", "0")},
};

std::vector<Parameter> make_parameters(const FeedForwardOptions& options) {
  if (options.hidden_size < 1)
    fail(Status::InvalidArgument, OPTION("hidden_size") " is %" PRId64 ", expected at least 1", options.hidden_size);
  if (options.output_size < 0) {
    fail(Status::InvalidArgument,
         OPTION("output_size") " is %" PRId64 ", expected at least 1, or 0 for the size of the input",
         options.output_size);
  }
  check_dropout(options.dropout);
  std::vector<Parameter> parameters;
  // The open dim is that of the input.
  const auto add = [&](size_t weight, int64_t output_size, int64_t input_size) {
    const bool is_open = output_size == kOpenDim || input_size == kOpenDim;
    const auto input = is_open ? std::optional(ProjectedInput::Queries) : std::nullopt;
    parameters.emplace_back(kFeedForwardParameters[weight], Shape{output_size, input_size}, 1, input);
    if (options.no_bias) return;
    const auto input_of_bias = output_size == kOpenDim ? input : std::nullopt;
    parameters.emplace_back(kFeedForwardParameters[weight + 1], Shape{output_size}, 1, input_of_bias);
  };
  add(kFirstWeight, options.hidden_size, kOpenDim);
  if (options.gated) add(kGateWeight, options.hidden_size, kOpenDim);
  add(kSecondWeight, options.output_size == 0 ? kOpenDim : options.output_size, options.hidden_size);
  return parameters;
}

// Has the part store the sums before the activation, in an array like its output.
Value saved_sum(Schedule& schedule, LinearPart& part, const Shape& shape) {
  const Value sum = schedule.reserve_spread(shape);
  schedule.set_array(part.sum, sum);
  for (int axis = 0; axis < kOperandRank; ++axis) part.sum.strides[axis] = part.output.strides[axis];
  return sum;
}

}  // namespace

FeedForward::FeedForward(std::shared_ptr<Context> context, const FeedForwardOptions& options)
    : Layer(std::move(context), make_parameters(options), kFeedForwardParameters), options_(options) {}

void FeedForward::check(Schedule&, Purpose, LayerCall& call) const {
  const Value& input = call.inputs.queries;
  call.shapes.dtype = input.dtype();
  call.shapes.output = input.shape();
  if (options_.output_size != 0) call.shapes.output[input.rank() - 1] = options_.output_size;
}

void FeedForward::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const Value& input = call.inputs.queries;
  const auto parameters_of = [this](size_t weight) {
    return ProjectionParameters{*parameter_of(weight), parameter_of(weight + 1)};
  };
  const bool is_child = outputs.addend.is_given() || call.row_limits != nullptr;
  const auto add = [&](const char* operation, size_t first, const Value& from, const Value& to,
                       const Value& addend) -> LinearPart& {
    if (is_child) return add_row_linear(schedule, operation, parameters_of(first), from, to, addend, call.row_limits);
    return add_row_linear(schedule, operation, parameters_of(first), from, to);
  };
  Shape shape = input.shape();
  shape[input.rank() - 1] = options_.hidden_size;
  Value hidden = schedule.reserve_spread(shape);
  LinearPart& first = add("first linear", kFirstWeight, input, hidden, {});
  if (options_.gated) {
    const Value ungated = hidden;
    // The product is in place, unless a backward reads what it is of.
    if (call.saved != nullptr) hidden = schedule.reserve_spread(shape);
    LinearPart& gate = add("gate", kGateWeight, input, hidden, {});
    gate.activation = options_.activation;
    schedule.set_array(gate.factor, ungated);
    for (int axis = 0; axis < kOperandRank; ++axis) gate.factor.strides[axis] = gate.output.strides[axis];
    if (call.saved != nullptr) {
      call.saved[kSavedSum] = ungated;
      call.saved[kSavedGateSum] = saved_sum(schedule, gate, shape);
    }
  } else {
    first.activation = options_.activation;
    if (call.saved != nullptr) call.saved[kSavedSum] = saved_sum(schedule, first, shape);
  }
  if (call.saved != nullptr) call.saved[kSavedHidden] = hidden;
  if (call.training.is_on && options_.dropout != 0) {
    const Value kept = schedule.reserve_spread(shape);
    add_dropout(schedule, "dropout", hidden, kept, call.training.dropout_seed, options_.dropout);
    hidden = kept;
  }
  if (call.saved != nullptr) call.saved[kSavedKept] = hidden;
  add("second linear", kSecondWeight, hidden, outputs.output, outputs.addend).scale = outputs.scale;
}

void FeedForward::compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const {
  const bool is_deep = learns(call) || gradients.queries.is_wanted();
  if (!is_deep) return;
  const Value& input = call.inputs.queries;
  const Value& hidden = call.saved[kSavedHidden];
  const Shape shape = hidden.shape();
  const auto add = [&](size_t weight, const Value& from, const Value& of_output, const InputGradient& to, float scale,
                       const char* parameters_operation, const char* input_operation) {
    add_linear_backward(schedule, context(),
                        {.parameters = {*parameter_of(weight), parameter_of(weight + 1)},
                         .input = from,
                         .output_gradient = of_output,
                         .scale = scale,
                         .weight = gradient_of(call, weight),
                         .bias = gradient_of(call, weight + 1),
                         .input_gradient = to,
                         .rows = {call.row_limits},
                         .parameters_operation = parameters_operation,
                         .input_operation = input_operation});
  };
  Value of_hidden = schedule.reserve_spread(shape);
  add(kSecondWeight, call.saved[kSavedKept], gradients.output, {of_hidden}, gradients.scale,
      "gradients of the second linear's parameters", "gradient of the second linear's input");
  if (call.training.is_on && options_.dropout != 0) {
    const Value of_kept = of_hidden;
    of_hidden = schedule.reserve_spread(shape);
    add_dropout(schedule, "gradient of dropout's input", of_kept, of_hidden, call.training.dropout_seed,
                options_.dropout);
  }
  const Value of_sum = schedule.reserve_spread(shape);
  Value of_gate;
  auto& activation = schedule.add<ActivateBackwardProblem>("gradient of the activation");
  std::ranges::copy_n(shape.dims.begin(), shape.rank, activation.sizes + kElementwiseRank - shape.rank);
  activation.activation = options_.activation;
  schedule.set_elementwise(activation.output_gradient, of_hidden);
  if (options_.gated) {
    of_gate = schedule.reserve_spread(shape);
    schedule.set_elementwise(activation.sum, call.saved[kSavedGateSum]);
    schedule.set_elementwise(activation.factor, call.saved[kSavedSum]);
    schedule.set_elementwise(activation.sum_gradient, of_gate);
    schedule.set_elementwise(activation.factor_gradient, of_sum);
  } else {
    schedule.set_elementwise(activation.sum, call.saved[kSavedSum]);
    schedule.set_elementwise(activation.sum_gradient, of_sum);
  }
  InputGradient to = gradients.queries;
  if (options_.gated) {
    add(kGateWeight, input, of_gate, to, 1, "gradients of the gate's parameters", "gradient of the gate's input");
    to.addend = to.to;
  }
  add(kFirstWeight, input, of_sum, to, 1, "gradients of the first linear's parameters",
      "gradient of the first linear's input");
}

void FeedForward::write_options(JsonWriter& json) const {
  json.member("hidden_size", options_.hidden_size);
  json.member("output_size", options_.output_size);
  json.member("activation", row_of(options_.activation).word);
  json.member("gated", options_.gated);
  json.member("no_bias", options_.no_bias);
  json.member("dropout", options_.dropout);
}

}  // namespace heed
