// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/patch_embedding.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "layers/kinds/backward/linear_backward.h"
#include "layers/kinds/projection.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/linear.h"

namespace heed {
namespace {

// The parameters, in the order of the table.
enum : size_t { kPatchWeight, kPatchBias, kClassToken };
constexpr PossibleParameter kPatchParameters[] = {
    {.name = "weight", .use = Use::Projection},
    {.name = "bias", .initializer = Initializer::Zeros, .option = SETTING("no_bias", "0")},
    {.name = "class_token", .initializer = Initializer::Zeros, .option = SETTING("class_token", "1")},
};

PatchEmbeddingOptions complete(PatchEmbeddingOptions options) {
  if (options.patch_width == 0) options.patch_width = options.patch_height;
  if (options.image_width == 0) options.image_width = options.image_height;
  return options;
}

void require_positive(int64_t number, const char* name) {
  if (number < 1) fail(Status::InvalidArgument, "%s is %" PRId64 ", expected at least 1", name, number);
}

void require_multiple(int64_t image, const char* image_name, int64_t patch, const char* patch_name) {
  if (image >= 0 && image % patch == 0) return;
  fail(Status::InvalidArgument, "%s is %" PRId64 ", expected a multiple of %s, %" PRId64 ", or 0", image_name, image,
       patch_name, patch);
}

std::vector<Parameter> make_parameters(const PatchEmbeddingOptions& options) {
  require_positive(options.patch_height, OPTION("patch_height"));
  require_positive(options.patch_width, OPTION("patch_width"));
  require_positive(options.num_channels, OPTION("num_channels"));
  require_positive(options.size, OPTION("size"));
  require_multiple(options.image_height, OPTION("image_height"), options.patch_height, OPTION("patch_height"));
  require_multiple(options.image_width, OPTION("image_width"), options.patch_width, OPTION("patch_width"));
  if (options.image_height == 0 && options.image_width != 0) {
    fail(Status::InvalidArgument,
         OPTION("image_width") " is %" PRId64 ", but " OPTION("image_height") " is 0: expected both, or 0",
         options.image_width);
  }
  int64_t patch_size = 0;
  if (!checked_multiply(options.patch_height, options.patch_width, patch_size) ||
      !checked_multiply(patch_size, options.num_channels, patch_size)) {
    fail(Status::InvalidArgument,
         OPTION("patch_height") " is %" PRId64 ", " OPTION("patch_width") " %" PRId64 " and " OPTION(
             "num_channels") " %" PRId64 ": expected a product below 2^63",
         options.patch_height, options.patch_width, options.num_channels);
  }
  std::vector<Parameter> parameters;
  parameters.emplace_back(kPatchParameters[0], Shape{options.size, patch_size});
  if (!options.no_bias) parameters.emplace_back(kPatchParameters[1], Shape{options.size});
  if (options.class_token) parameters.emplace_back(kPatchParameters[2], Shape{options.size});
  return parameters;
}

// Axes of size 1 have strides without a meaning.
int64_t stride_of(const Value& value, int32_t axis) { return value.dim(axis) == 1 ? 0 : value.stride(axis); }

}  // namespace

PatchEmbedding::PatchEmbedding(std::shared_ptr<Context> context, const PatchEmbeddingOptions& options)
    : Layer(std::move(context), make_parameters(complete(options)), kPatchParameters), options_(complete(options)) {}

void PatchEmbedding::check(Schedule& schedule, Purpose, LayerCall& call) const {
  const Value& images = call.inputs.queries;
  const auto& [height, width, channels, size, class_token, no_bias, image_height, image_width] = options_;
  if (images.rank() != 4 || images.dim(1) != channels) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s, expected (B, %" PRId64 ", H, W), the channels of images", call.ids_name,
         to_string(images.shape()).c_str(), channels);
  }
  if (images.dim(2) % height != 0 || images.dim(3) % width != 0) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s, expected a height that is a multiple of %" PRId64
                                    " and a width that is one of %" PRId64 ", those of a patch",
         call.ids_name, to_string(images.shape()).c_str(), height, width);
  }
  if (image_height != 0 && (images.dim(2) != image_height || images.dim(3) != image_width)) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s, expected (B, %" PRId64 ", %" PRId64 ", %" PRId64
                                    "): the " WORD("layer") " reads images of one size",
         call.ids_name, to_string(images.shape()).c_str(), channels, image_height, image_width);
  }
  const int64_t batch = images.dim(0);
  const int64_t down = images.dim(2) / height;
  const int64_t across = images.dim(3) / width;
  // Fails if the sizes overflow.
  call.arrays = schedule.arena().allocate_for<Value>(1);
  std::construct_at(call.arrays,
                    schedule.reserve(schedule.form().dtype, {batch, down, across, channels, height, width}));
  call.shapes.dtype = images.dtype();
  call.shapes.output = {batch, first_row() + down * across, size};
}

void PatchEmbedding::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const Value& images = call.inputs.queries;
  const Value& patches = call.arrays[0];
  const Value& rows = outputs.output;
  const auto& [height, width, channels, size, class_token, no_bias, image_height, image_width] = options_;
  const Shape shape = patches.shape();

  // A dropout of 0 is a copy.
  DropoutProblem& copy = schedule.add<DropoutProblem>("cut patches");
  std::ranges::copy_n(shape.dims.begin(), shape.rank, copy.sizes + kElementwiseRank - shape.rank);
  set_images(schedule, copy.input, images);
  schedule.set_elementwise(copy.output, patches);

  LinearProblem& linear = schedule.add<LinearProblem>("project patches");
  linear.batch = shape[0];
  linear.rows = shape[1] * shape[2];
  linear.input_size = channels * height * width;
  schedule.set_array(linear.input, patches);
  linear.input.strides[1] = linear.rows * linear.input_size;
  linear.input.strides[2] = linear.input_size;
  linear.input.strides[3] = 1;
  LinearPart& part = linear.parts[0];
  set_parameters(schedule, part, {parameter_at(0), no_bias ? nullptr : &parameter_at(1)});
  const int64_t row_stride = stride_of(rows, 1);
  schedule.set_array(part.output, rows, first_row() * row_stride);
  part.output.strides[1] = stride_of(rows, 0);
  part.output.strides[2] = row_stride;
  part.output.strides[3] = stride_of(rows, 2);

  if (!class_token) return;
  DropoutProblem& token = schedule.add<DropoutProblem>("copy the class token");
  token.sizes[kElementwiseRank - 2] = shape[0];
  token.sizes[kElementwiseRank - 1] = size;
  schedule.set_operand(token.input, parameter_at(no_bias ? 1 : 2).value(), {-1, -1, -1, -1, -1, -1, -1, 0});
  schedule.set_array(token.output, rows);
  token.output.strides[kElementwiseRank - 2] = stride_of(rows, 0);
  token.output.strides[kElementwiseRank - 1] = stride_of(rows, 2);
}

void PatchEmbedding::set_images(Schedule& schedule, ElementwiseOperand& operand, const Value& images) const {
  const int64_t down = stride_of(images, 2);
  const int64_t across = stride_of(images, 3);
  schedule.set_array(operand, images);
  const int64_t strides[] = {stride_of(images, 0),
                             options_.patch_height * down,
                             options_.patch_width * across,
                             stride_of(images, 1),
                             down,
                             across};
  std::ranges::copy(strides, operand.strides + kElementwiseRank - std::size(strides));
}

void PatchEmbedding::compose_backward(Schedule& schedule, const LayerCall& call,
                                      const GradientValues& gradients) const {
  const Value& patches = call.arrays[0];
  const Value& of_rows = gradients.output;
  const Shape shape = patches.shape();
  const int64_t row_stride = stride_of(of_rows, 1);
  const auto set_rows = [&](Operand& operand) {
    schedule.set_array(operand, of_rows, first_row() * row_stride);
    operand.strides[1] = stride_of(of_rows, 0);
    operand.strides[2] = row_stride;
    operand.strides[3] = stride_of(of_rows, 2);
  };
  const int64_t num_rows = shape[1] * shape[2];
  const int64_t patch_size = shape[3] * shape[4] * shape[5];
  const auto set_patches = [&](Operand& operand, const Value& array) {
    schedule.set_array(operand, array);
    operand.strides[1] = num_rows * patch_size;
    operand.strides[2] = patch_size;
    operand.strides[3] = 1;
  };
  GradientSum* const weight = gradient_of(call, kPatchWeight);
  GradientSum* const bias = gradient_of(call, kPatchBias);
  if (weight != nullptr || bias != nullptr) {
    auto& problem = schedule.add<WeightGradientProblem>("gradients of the patches' projection");
    problem.batch = shape[0];
    problem.rows = num_rows;
    problem.input_size = patch_size;
    problem.output_size = problem.head_size = options_.size;
    set_rows(problem.output_gradient);
    set_patches(problem.input, patches);
    set_gradients(schedule, problem, weight, bias);
  }
  if (GradientSum* const token = gradient_of(call, kClassToken); token != nullptr) {
    auto& problem = schedule.add<WeightGradientProblem>("gradient of the class token");
    problem.batch = 1;
    problem.rows = shape[0];
    problem.output_size = problem.head_size = options_.size;
    schedule.set_array(problem.output_gradient, of_rows);
    problem.output_gradient.strides[2] = stride_of(of_rows, 0);
    problem.output_gradient.strides[3] = stride_of(of_rows, 2);
    set_gradients(schedule, problem, nullptr, token);
  }
  if (!gradients.queries.is_wanted()) return;
  const Value of_patches = schedule.reserve(DType::F32, shape);
  LinearProblem& linear = schedule.add<LinearProblem>("gradient of the patches");
  linear.batch = shape[0];
  linear.rows = num_rows;
  linear.input_size = options_.size;
  set_rows(linear.input);
  set_patches(linear.parts[0].output, of_patches);
  set_transposed(schedule, context(), linear.parts[0], parameter_at(0));

  const auto& [to, addend] = gradients.queries;
  constexpr const char* kOperation = "gradient of the images";
  if (addend.is_given()) {
    auto& sum = schedule.add<ElementwiseProblem>(kOperation);
    std::ranges::copy_n(shape.dims.begin(), shape.rank, sum.sizes + kElementwiseRank - shape.rank);
    schedule.set_elementwise(sum.inputs[0], of_patches);
    set_images(schedule, sum.inputs[1], addend);
    set_images(schedule, sum.output, to);
    return;
  }
  auto& copy = schedule.add<DropoutProblem>(kOperation);
  std::ranges::copy_n(shape.dims.begin(), shape.rank, copy.sizes + kElementwiseRank - shape.rank);
  schedule.set_elementwise(copy.input, of_patches);
  set_images(schedule, copy.output, to);
}

void PatchEmbedding::write_options(JsonWriter& json) const {
  json.member("patch_height", options_.patch_height);
  json.member("patch_width", options_.patch_width);
  json.member("num_channels", options_.num_channels);
  json.member("size", options_.size);
  json.member("class_token", options_.class_token);
  json.member("no_bias", options_.no_bias);
  json.member("image_height", options_.image_height);
  json.member("image_width", options_.image_width);
}

}  // namespace heed
