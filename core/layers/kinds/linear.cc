// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/linear.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layers/kinds/backward/linear_backward.h"
#include "layers/kinds/row_linear.h"
#include "ops/activate_backward.h"

namespace heed {
namespace {

// In LayerCall::saved of a call with a backward.
constexpr size_t kSavedSum = 0;

// The parameters, in the order of the table.
enum : size_t { kWeight, kBias };
constexpr PossibleParameter kParameters[] = {
    {.name = "weight", .use = Use::Projection},
    {.name = "bias", .initializer = Initializer::Zeros, .option = SETTING("no_bias", "0")},
};

std::vector<Parameter> make_parameters(const LinearOptions& options, bool has_weight) {
  if (options.output_size < 1)
    fail(Status::InvalidArgument, OPTION("output_size") " is %" PRId64 ", expected at least 1", options.output_size);
  std::vector<Parameter> parameters;
  if (has_weight)
    parameters.emplace_back(kParameters[kWeight], Shape{options.output_size, kOpenDim}, 1, ProjectedInput::Queries);
  if (!options.no_bias) parameters.emplace_back(kParameters[kBias], Shape{options.output_size});
  return parameters;
}

}  // namespace

Linear::Linear(std::shared_ptr<Context> context, const LinearOptions& options)
    : Layer(std::move(context), make_parameters(options, true), kParameters), options_(options) {}

Linear::Linear(std::shared_ptr<Context> context, const LinearOptions& options, const Parameter& table)
    : Layer(std::move(context), make_parameters(options, false), kParameters), options_(options) {
  table_.emplace(table, "embedding", this->context()->host_allocator());
}

void Linear::check(Schedule&, Purpose, LayerCall& call) const {
  const Value& input = call.inputs.queries;
  const int32_t last = input.rank() - 1;
  if (table_ && input.dim(last) != table_->shape()[1]) {
    fail(Status::InvalidArgument,
         INPUT("queries") " has " ARGUMENT(
             "dims") " %s, but the table of the embedding has %s: expected rows of %" PRId64,
         to_string(input.shape()).c_str(), to_string(table_->shape()).c_str(), table_->shape()[1]);
  }
  call.shapes.dtype = input.dtype();
  call.shapes.output = input.shape();
  call.shapes.output[last] = options_.output_size;
}

void Linear::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  weight().require_set();
  const ProjectionParameters parameters = {weight(), parameter_of(kBias)};
  const Value& input = call.inputs.queries;
  // The backward of a cap reads what is capped.
  const bool saves_sum = call.saved != nullptr && options_.soft_cap > 0;
  LinearPart& part =
      call.row_limits == nullptr && !saves_sum
          ? add_row_linear(schedule, "linear", parameters, input, outputs.output)
          : add_row_linear(schedule, "linear", parameters, input, outputs.output, Value(), call.row_limits);
  part.scale = options_.scale;
  part.soft_cap = options_.soft_cap;
  if (!saves_sum) return;
  const int32_t last = input.rank() - 1;
  call.saved[kSavedSum] = schedule.reserve(DType::F32, call.shapes.output);
  schedule.set_operand(part.sum, call.saved[kSavedSum], {-1, last == 2 ? 0 : -1, last - 1, last});
}

void Linear::compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const {
  Value of_sum = gradients.output;
  const bool is_capped = options_.soft_cap > 0;
  if (is_capped) {
    const Shape shape = of_sum.shape();
    of_sum = schedule.reserve(DType::F32, shape);
    auto& problem = schedule.add<ActivateBackwardProblem>("gradient of the soft cap");
    std::ranges::copy_n(shape.dims.begin(), shape.rank, problem.sizes + kElementwiseRank - shape.rank);
    problem.activation = Activation::None;
    problem.scale = options_.scale;
    problem.soft_cap = options_.soft_cap;
    schedule.set_elementwise(problem.sum, call.saved[kSavedSum]);
    schedule.set_elementwise(problem.output_gradient, gradients.output);
    schedule.set_elementwise(problem.sum_gradient, of_sum);
  }
  add_linear_backward(schedule, context(),
                      {.parameters = {weight(), parameter_of(kBias)},
                       .input = call.inputs.queries,
                       .output_gradient = of_sum,
                       .scale = (is_capped ? 1 : options_.scale) * gradients.scale,
                       .weight = table_ ? call.table_gradient : gradient_of(call, kWeight),
                       .bias = gradient_of(call, kBias),
                       .input_gradient = gradients.queries,
                       .rows = {call.row_limits},
                       .parameters_operation = "gradients of the linear's parameters",
                       .input_operation = "gradient of the linear's input"});
}

void Linear::write_options(JsonWriter& json) const {
  json.member("output_size", options_.output_size);
  json.member("no_bias", options_.no_bias);
}

}  // namespace heed
