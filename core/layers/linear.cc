// SPDX-License-Identifier: Apache-2.0
#include "layers/linear.h"

#include <cinttypes>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layers/common_axes.h"
#include "layers/projection.h"
#include "ops/linear.h"

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
                          Source::Queries);
  if (!options.no_bias) parameters.emplace_back(kParameterNames[kBias], Shape{options.output_size});
  return parameters;
}

}  // namespace

Linear::Linear(std::shared_ptr<Context> context, const LinearOptions& options)
    : Layer(std::move(context), make_parameters(options), kParameterNames), options_(options) {}

CheckedInputs Linear::check(const LayerInputs& inputs, Purpose) const {
  check_one_input(inputs, kind(), context()->device_name());
  CheckedInputs result{inputs, {}};
  result.shapes.dtype = inputs.queries->dtype();
  result.shapes.output = inputs.queries->shape();
  result.shapes.output[inputs.queries->rank() - 1] = options_.output_size;
  return result;
}

void Linear::compose(const CheckedInputs& call, const LayerOutputs& outputs, Schedule& schedule) const {
  const Tensor& input = *call.inputs.queries;
  const Tensor& output = *outputs.output;
  const int32_t last = input.rank() - 1;
  // A problem has two axes of rows. Those that are left are walked around it: in the longest two the weight is read for
  // as many rows as can be.
  CommonAxes around = common_axes(input, output, last);
  const CommonAxis rows = around.take_longest();
  const CommonAxis batch = around.take_longest();
  LinearProblem& linear = schedule.add_linear("linear", around);
  linear.batch = batch.size;
  linear.rows = rows.size;
  linear.input_size = input.dim(last);
  set_operand(linear.input, input, {-1, -1, -1, last});
  LinearPart& part = linear.parts[0];
  set_parameters(part, {parameter_at(kWeight), options_.no_bias ? nullptr : &parameter_at(kBias)});
  set_operand(part.output, output, {-1, -1, -1, last});
  linear.input.strides[1] = batch.input_stride;
  linear.input.strides[2] = rows.input_stride;
  part.output.strides[1] = batch.output_stride;
  part.output.strides[2] = rows.output_stride;
}

}  // namespace heed
