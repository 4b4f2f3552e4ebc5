// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/decimal_text.h"
#include "base/error.h"
#include "ops/norm_backward.h"

namespace heed {
namespace {

constexpr float kDefaultEpsilon = 1e-5f;

// The parameters, in the order of the table.
enum : size_t { kGain, kShift };
// An RMS norm has no bias.
constexpr PossibleParameter kNormParameters[] = {
    {.name = "weight", .initializer = Initializer::Ones},
    {.name = "bias",
     .initializer = Initializer::Zeros,
     .option = OPTION("kind") " " CONSTANT("HEED_NORM_LAYER") " with " WORD("no_bias 0")},
};

LayerNormOptions with_defaults(LayerNormOptions options) {
  if (options.epsilon == 0) options.epsilon = kDefaultEpsilon;
  if (options.kind == NormKind::Rms) options.no_bias = true;
  return options;
}

std::vector<Parameter> make_parameters(const LayerNormOptions& options) {
  if (!(options.epsilon >= 0) || std::isinf(options.epsilon)) {
    fail(Status::InvalidArgument, OPTION("epsilon") " is %s, expected a finite number above 0, or 0 for 1e-5",
         DecimalText(static_cast<double>(options.epsilon), 9).c_str());
  }
  const LayerNormOptions all = with_defaults(options);
  std::vector<Parameter> parameters;
  parameters.emplace_back(kNormParameters[kGain], Shape{kOpenDim}, 1, ProjectedInput::Queries);
  if (!all.no_bias) parameters.emplace_back(kNormParameters[kShift], Shape{kOpenDim}, 1, ProjectedInput::Queries);
  return parameters;
}

}  // namespace

LayerNorm::LayerNorm(std::shared_ptr<Context> context, const LayerNormOptions& options)
    : Layer(std::move(context), make_parameters(options), kNormParameters), options_(with_defaults(options)) {}

void LayerNorm::check(Schedule&, Purpose, LayerCall& call) const {
  call.shapes.dtype = call.inputs.queries.dtype();
  call.shapes.output = call.inputs.queries.shape();
}

void LayerNorm::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const Value& input = call.inputs.queries;
  NormProblem& problem = schedule.add<NormProblem>("normalize");
  std::ranges::copy_n(input.shape().dims.begin(), input.rank(), problem.sizes + kElementwiseRank - input.rank());
  schedule.set_elementwise(problem.input, input);
  if (outputs.addend.is_given()) schedule.set_elementwise(problem.addend, outputs.addend);
  schedule.set_elementwise(problem.output, outputs.output);
  schedule.set_operand(problem.weight, parameter_at(kGain).value(), {-1, -1, -1, 0});
  if (!options_.no_bias) schedule.set_operand(problem.bias, parameter_at(kShift).value(), {-1, -1, -1, 0});
  problem.kind = options_.kind;
  problem.epsilon = options_.epsilon;
  if (call.row_limits == nullptr) return;
  problem.has_limits = 1;
  problem.limits = *call.row_limits;
}

void LayerNorm::compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const {
  const Value& input = call.inputs.queries;
  GradientSum* const gain = gradient_of(call, kGain);
  GradientSum* const shift = gradient_of(call, kShift);
  if (gain == nullptr && shift == nullptr && !gradients.queries.is_wanted()) return;
  auto& problem = schedule.add<NormBackwardProblem>("gradients of the norm");
  std::ranges::copy_n(input.shape().dims.begin(), input.rank(), problem.sizes + kElementwiseRank - input.rank());
  schedule.set_elementwise(problem.output_gradient, gradients.output);
  schedule.set_elementwise(problem.input, input);
  schedule.set_operand(problem.weight, parameter_at(kGain).value(), {-1, -1, -1, 0});
  problem.kind = options_.kind;
  problem.epsilon = options_.epsilon;
  const auto& [to, addend] = gradients.queries;
  if (to.is_given()) schedule.set_elementwise(problem.input_gradient, to);
  if (to.is_given() && addend.is_given()) schedule.set_elementwise(problem.addend, addend);
  if (gain != nullptr) {
    schedule.set_operand(problem.weight_gradient, gain->to, {-1, -1, -1, 0});
    problem.accumulates_weight = gain->begin() ? 1 : 0;
  }
  if (shift != nullptr) {
    schedule.set_operand(problem.bias_gradient, shift->to, {-1, -1, -1, 0});
    problem.accumulates_bias = shift->begin() ? 1 : 0;
  }
}

void LayerNorm::write_options(JsonWriter& json) const {
  json.member("kind", options_.kind == NormKind::Rms ? "rms" : "layer");
  json.member("epsilon", options_.epsilon);
  json.member("no_bias", options_.no_bias);
}

float epsilon_of(const LayerNormOptions& options) { return with_defaults(options).epsilon; }

}  // namespace heed
