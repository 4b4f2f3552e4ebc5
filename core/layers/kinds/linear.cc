// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/linear.h"

#include <cinttypes>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layers/kinds/row_linear.h"

namespace heed {
namespace {

// The parameters in their order, and their names.
enum : size_t { kWeight, kBias };
constexpr const char* kParameterNames[] = {"weight", "bias", nullptr};

std::vector<Parameter> make_parameters(const LinearOptions& options, bool has_weight) {
  if (options.output_size < 1)
    fail(Status::InvalidArgument, "options->output_size is %" PRId64 ", expected at least 1", options.output_size);
  std::vector<Parameter> parameters;
  if (has_weight)
    parameters.emplace_back(kParameterNames[kWeight], Shape{options.output_size, kOpenDim}, 1, Use::Projection,
                            ProjectedInput::Queries);
  if (!options.no_bias)
    parameters.emplace_back(kParameterNames[kBias], Shape{options.output_size}, 1, Use::Other, std::nullopt,
                            Initializer::Zeros);
  return parameters;
}

}  // namespace

Linear::Linear(std::shared_ptr<Context> context, const LinearOptions& options)
    : Layer(std::move(context), make_parameters(options, true), kParameterNames), options_(options) {}

Linear::Linear(std::shared_ptr<Context> context, const LinearOptions& options, const Parameter& table)
    : Layer(std::move(context), make_parameters(options, false), kParameterNames), options_(options) {
  table_.emplace(table, "embedding", this->context()->host_allocator());
}

LayerInputs Linear::check_tensors(const LayerInputs& inputs) const {
  check_one_input(inputs, kind(), context()->device_name());
  return inputs;
}

void Linear::check(Schedule&, Purpose, LayerCall& call) const {
  const Value& input = call.inputs.queries;
  const int32_t last = input.rank() - 1;
  if (table_ && input.dim(last) != table_->shape()[1]) {
    fail(Status::InvalidArgument,
         "inputs->queries has dims %s, but the table of the embedding has %s: expected rows of %" PRId64,
         to_string(input.shape()).c_str(), to_string(table_->shape()).c_str(), table_->shape()[1]);
  }
  call.shapes.dtype = input.dtype();
  call.shapes.output = input.shape();
  call.shapes.output[last] = options_.output_size;
}

const Parameter* Linear::bias() const {
  if (options_.no_bias) return nullptr;
  return &parameter_at(table_ ? 0 : 1);
}

void Linear::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  weight().require_set();
  const ProjectionParameters parameters = {weight(), bias()};
  const Value& input = call.inputs.queries;
  LinearPart& part = call.row_limits == nullptr ? add_row_linear(schedule, "linear", parameters, input, outputs.output)
                                                : add_row_linear(schedule, "linear", parameters, input, outputs.output,
                                                                 Value(), call.row_limits);
  part.scale = options_.scale;
  part.soft_cap = options_.soft_cap;
}

void Linear::write_options(JsonWriter& json) const {
  json.member("output_size", options_.output_size);
  json.member("no_bias", options_.no_bias);
}

}  // namespace heed
