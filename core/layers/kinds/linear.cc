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
