// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/feed_forward.h"

#include <cinttypes>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "attention/options.h"
#include "base/error.h"
#include "layers/kinds/dropout.h"
#include "layers/kinds/row_linear.h"

namespace heed {
namespace {

constexpr const char* kFeedForwardParameterNames[] = {"W_1.weight", "W_1.bias", "W_gate.weight", "W_gate.bias",
                                                      "W_2.weight", "W_2.bias", nullptr};

std::vector<Parameter> make_parameters(const FeedForwardOptions& options) {
  if (options.hidden_size < 1)
    fail(Status::InvalidArgument, "options->hidden_size is %" PRId64 ", expected at least 1", options.hidden_size);
  if (options.output_size < 0) {
    fail(Status::InvalidArgument,
         "options->output_size is %" PRId64 ", expected at least 1, or 0 for the size of the input",
         options.output_size);
  }
  check_dropout(options.dropout);
  std::vector<Parameter> parameters;
  // The open dim is that of the input.
  const auto add = [&](size_t name, int64_t output_size, int64_t input_size) {
    const bool is_open = output_size == kOpenDim || input_size == kOpenDim;
    const auto input = is_open ? std::optional(ProjectedInput::Queries) : std::nullopt;
    parameters.emplace_back(kFeedForwardParameterNames[name], Shape{output_size, input_size}, 1, Use::Projection,
                            input);
    if (options.no_bias) return;
    const auto input_of_bias = output_size == kOpenDim ? input : std::nullopt;
    parameters.emplace_back(kFeedForwardParameterNames[name + 1], Shape{output_size}, 1, Use::Other, input_of_bias,
                            Initializer::Zeros);
  };
  add(0, options.hidden_size, kOpenDim);
  if (options.gated) add(2, options.hidden_size, kOpenDim);
  add(4, options.output_size == 0 ? kOpenDim : options.output_size, options.hidden_size);
  return parameters;
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::None: break;
    case Activation::Relu: return "relu";
    case Activation::Gelu: return "gelu";
    case Activation::GeluTanh: return "gelu_tanh";
    case Activation::GeluQuick: return "gelu_quick";
    case Activation::Silu: return "silu";
  }
  __builtin_unreachable();  // capi/src accepts no other value
}

}  // namespace

FeedForward::FeedForward(std::shared_ptr<Context> context, const FeedForwardOptions& options)
    : Layer(std::move(context), make_parameters(options), kFeedForwardParameterNames), options_(options) {
  const size_t each = options.no_bias ? 1 : 2;
  first_ = 0;
  gate_ = each;
  second_ = options.gated ? 2 * each : each;
}

LayerInputs FeedForward::check_tensors(const LayerInputs& inputs) const {
  check_one_input(inputs, kind(), context()->device_name());
  return inputs;
}

void FeedForward::check(Schedule&, Purpose, LayerCall& call) const {
  const Value& input = call.inputs.queries;
  call.shapes.dtype = input.dtype();
  call.shapes.output = input.shape();
  if (options_.output_size != 0) call.shapes.output[input.rank() - 1] = options_.output_size;
}

void FeedForward::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const Value& input = call.inputs.queries;
  const auto parameters_of = [this](size_t first) {
    return ProjectionParameters{parameter_at(first), options_.no_bias ? nullptr : &parameter_at(first + 1)};
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
  LinearPart& first = add("first linear", first_, input, hidden, {});
  if (options_.gated) {
    LinearPart& gate = add("gate", gate_, input, hidden, {});
    gate.activation = options_.activation;
    schedule.set_array(gate.factor, hidden);
    for (int axis = 0; axis < kOperandRank; ++axis) gate.factor.strides[axis] = gate.output.strides[axis];
  } else {
    first.activation = options_.activation;
  }
  const AttentionInputs& others = *call.inputs.others;
  if (others.training && options_.dropout != 0) {
    const Value kept = schedule.reserve_spread(shape);
    add_dropout(schedule, "dropout", hidden, kept, others.dropout_seed, options_.dropout);
    hidden = kept;
  }
  add("second linear", second_, hidden, outputs.output, outputs.addend).scale = outputs.scale;
}

void FeedForward::write_options(JsonWriter& json) const {
  json.member("hidden_size", options_.hidden_size);
  json.member("output_size", options_.output_size);
  json.member("activation", name_of(options_.activation));
  json.member("gated", options_.gated);
  json.member("no_bias", options_.no_bias);
  json.member("dropout", options_.dropout);
}

}  // namespace heed
