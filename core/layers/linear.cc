// SPDX-License-Identifier: Apache-2.0
#include "layers/linear.h"

#include <cinttypes>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layers/row_linear.h"

namespace heed {
namespace {

// The parameters in their order, and their names.
enum : size_t { kWeight, kBias };
constexpr const char* kParameterNames[] = {"weight", "bias", nullptr};

std::vector<Parameter> make_parameters(const LinearOptions& options) {
  if (options.output_size < 1)
    fail(Status::InvalidArgument, "options->output_size is %" PRId64 ", expected at least 1", options.output_size);
  std::vector<Parameter> parameters;
  parameters.emplace_back(kParameterNames[kWeight], Shape{options.output_size, kOpenDim}, 1, Use::Projection,
                          ProjectedInput::Queries);
  if (!options.no_bias)
    parameters.emplace_back(kParameterNames[kBias], Shape{options.output_size}, 1, Use::Other, std::nullopt,
                            Initializer::Zeros);
  return parameters;
}

}  // namespace

Linear::Linear(std::shared_ptr<Context> context, const LinearOptions& options)
    : Layer(std::move(context), make_parameters(options), kParameterNames), options_(options) {}

LayerInputs Linear::check_tensors(const LayerInputs& inputs) const {
  check_one_input(inputs, kind(), context()->device_name());
  return inputs;
}

void Linear::check(Schedule&, Purpose, LayerCall& call) const {
  const Value& input = call.inputs.queries;
  call.shapes.dtype = input.dtype();
  call.shapes.output = input.shape();
  call.shapes.output[input.rank() - 1] = options_.output_size;
}

void Linear::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  add_row_linear(schedule, "linear", {parameter_at(kWeight), options_.no_bias ? nullptr : &parameter_at(kBias)},
                 call.inputs.queries, outputs.output);
}

void Linear::write_options(JsonWriter& json) const {
  json.member("output_size", options_.output_size);
  json.member("no_bias", options_.no_bias);
}

}  // namespace heed
