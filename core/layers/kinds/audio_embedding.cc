// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/audio_embedding.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layers/kinds/backward/linear_backward.h"
#include "layers/kinds/projection.h"
#include "ops/activate_backward.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/linear.h"

namespace heed {
namespace {

// The frames that a convolution reads for one row.
constexpr int64_t kKernel = 3;
// Both convolutions read a frame of zeros before the first and after the last one.
constexpr int64_t kPadding = 2;
constexpr int64_t kMostSize = INT64_MAX / kKernel;
// The axis of frames in elementwise operations.
constexpr int kFrame = kElementwiseRank - 2;

// The parameters, in the order of the table.
enum : size_t { kWeight1, kBias1, kWeight2, kBias2 };
constexpr PossibleParameter kConvolutions[] = {
    {.name = "conv_1.weight", .use = Use::Projection},
    {.name = "conv_1.bias", .initializer = Initializer::Zeros},
    {.name = "conv_2.weight", .use = Use::Projection},
    {.name = "conv_2.bias", .initializer = Initializer::Zeros},
};

std::vector<Parameter> make_convolutions(const AudioEmbeddingOptions& options) {
  for (const auto& [name, number] : {std::pair{OPTION("num_mels"), options.num_mels}, {OPTION("size"), options.size}}) {
    if (number < 1 || number > kMostSize)
      fail(Status::InvalidArgument, "%s is %" PRId64 ", expected 1 to %" PRId64, name, number, kMostSize);
  }
  std::vector<Parameter> parameters;
  for (const size_t weight : {kWeight1, kWeight2}) {
    const int64_t input_size = weight == kWeight1 ? options.num_mels : options.size;
    parameters.emplace_back(kConvolutions[weight], Shape{options.size, kKernel * input_size});
    parameters.emplace_back(kConvolutions[weight + 1], Shape{options.size});
  }
  return parameters;
}

}  // namespace

AudioEmbedding::AudioEmbedding(std::shared_ptr<Context> context, const AudioEmbeddingOptions& options)
    : Layer(std::move(context), make_convolutions(options), kConvolutions),
      options_(options),
      zeros_(Tensor::zeros(this->context(), DType::F32, {std::max(options.num_mels, options.size)})) {}

void AudioEmbedding::check(Schedule& schedule, Purpose, LayerCall& call) const {
  const Value& features = call.inputs.queries;
  if (features.rank() != 3 || features.dim(1) != options_.num_mels) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s, expected (B, %" PRId64 ", T), the features of frames", call.ids_name,
         to_string(features.shape()).c_str(), options_.num_mels);
  }
  const int64_t batch = features.dim(0);
  // A number that overflows the array's size instead of itself.
  const int64_t num_frames = std::min(features.dim(2), INT64_MAX - kPadding);
  call.arrays = schedule.arena().allocate_for<Value>(2);
  for (const auto& [array, size] : {std::pair{0, options_.num_mels}, {1, options_.size}}) {
    std::construct_at(&call.arrays[array],
                      schedule.reserve(schedule.form().dtype, {batch, num_frames + kPadding, size}));
  }
  call.shapes.dtype = features.dtype();
  call.shapes.output = {batch, num_frames / 2 + num_frames % 2, options_.size};
}

AudioEmbedding::Convolution AudioEmbedding::first_convolution(const LayerCall& call) const {
  return {"convolve features", kWeight1, call.arrays[0], 1, call.inputs.queries.dim(2)};
}

AudioEmbedding::Convolution AudioEmbedding::second_convolution(const LayerCall& call) const {
  return {"convolve every second frame", kWeight2, call.arrays[1], 2, call.shapes.output[1]};
}

void AudioEmbedding::add_zeros(Schedule& schedule, const char* operation, const Value& frames, int64_t count,
                               int64_t step) const {
  // A dropout of 0 is a copy.
  DropoutProblem& copy = schedule.add<DropoutProblem>(operation);
  copy.sizes[kFrame - 1] = frames.dim(0);
  copy.sizes[kFrame] = count;
  copy.sizes[kFrame + 1] = frames.dim(2);
  schedule.set_operand(copy.input, zeros_, {-1, -1, -1, -1, -1, -1, -1, 0});
  schedule.set_elementwise(copy.output, frames);
  copy.output.strides[kFrame] *= step;
}

void AudioEmbedding::add_padding(Schedule& schedule, const Value& frames) const {
  add_zeros(schedule, "pad frames", frames, kPadding, frames.dim(1) - 1);
}

namespace {

// Axes of size 1 have strides without a meaning.
void set_rows(Schedule& schedule, Operand& operand, const Value& rows, int64_t first_row) {
  const int64_t strides[] = {0, rows.dim(0) == 1 ? 0 : rows.stride(0), rows.dim(1) == 1 ? 0 : rows.stride(1),
                             rows.dim(2) == 1 ? 0 : rows.stride(2)};
  schedule.set_array(operand, rows, first_row * strides[2]);
  std::ranges::copy(strides, operand.strides);
}

// The frames of a padded array without its padding.
void set_inner_frames(Schedule& schedule, ElementwiseOperand& operand, const Value& padded) {
  schedule.set_array(operand, padded, padded.stride(1));
  std::ranges::copy(std::to_array({padded.stride(0), padded.stride(1), int64_t{1}}), operand.strides + kFrame - 1);
}

// Three frames lie one after another, and are the rows of a product that overlap.
void set_overlapping(Schedule& schedule, Operand& operand, const Value& frames, int64_t step) {
  schedule.set_operand(operand, frames, {-1, 0, 1, 2});
  operand.strides[2] *= step;
}

}  // namespace

void AudioEmbedding::add_convolution(Schedule& schedule, const Convolution& convolution, const LayerCall& call,
                                     const Value& output, int64_t first_row) const {
  const auto& [operation, weight, frames, step, num_rows] = convolution;
  LinearProblem& linear = schedule.add<LinearProblem>(operation);
  linear.batch = frames.dim(0);
  linear.rows = num_rows;
  linear.input_size = kKernel * frames.dim(2);
  set_overlapping(schedule, linear.input, frames, step);
  LinearPart& part = linear.parts[0];
  set_parameters(schedule, part, {parameter_at(weight), &parameter_at(weight + 1)});
  part.activation = Activation::Gelu;
  set_rows(schedule, part.output, output, first_row);
  if (call.saved == nullptr) return;
  call.saved[weight] = schedule.reserve(DType::F32, {frames.dim(0), num_rows, options_.size});
  set_rows(schedule, part.sum, call.saved[weight], 0);
}

void AudioEmbedding::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const Value& features = call.inputs.queries;
  const Value& padded = call.arrays[0];
  const Value& hidden = call.arrays[1];
  add_padding(schedule, padded);
  DropoutProblem& copy = schedule.add<DropoutProblem>("transpose features");
  copy.sizes[kFrame - 1] = features.dim(0);
  copy.sizes[kFrame] = features.dim(2);
  copy.sizes[kFrame + 1] = options_.num_mels;
  copy.transposes = 1;
  schedule.set_operand(copy.input, features, {-1, -1, -1, -1, -1, 0, 2, 1});
  set_inner_frames(schedule, copy.output, padded);
  add_convolution(schedule, first_convolution(call), call, hidden, 1);
  add_padding(schedule, hidden);
  add_convolution(schedule, second_convolution(call), call, outputs.output, 0);
}

void AudioEmbedding::add_convolution_backward(Schedule& schedule, const Convolution& convolution, const LayerCall& call,
                                              const Value& of_output, int64_t first_row, const Value& of_frames) const {
  const auto& [operation, weight, frames, step, num_rows] = convolution;
  const Value of_sum = schedule.reserve(DType::F32, call.saved[weight].shape());
  auto& activation = schedule.add<ActivateBackwardProblem>("gradient of the activation");
  std::ranges::copy_n(of_sum.shape().dims.begin(), 3, activation.sizes + kFrame - 1);
  activation.activation = Activation::Gelu;
  schedule.set_elementwise(activation.sum, call.saved[weight]);
  schedule.set_array(activation.output_gradient, of_output, first_row * of_output.stride(1));
  for (int32_t axis = 0; axis < 3; ++axis)
    activation.output_gradient.strides[kFrame - 1 + axis] = of_output.dim(axis) == 1 ? 0 : of_output.stride(axis);
  schedule.set_elementwise(activation.sum_gradient, of_sum);

  GradientSum* const of_weight = gradient_of(call, weight);
  GradientSum* const of_bias = gradient_of(call, weight + 1);
  const int64_t size = frames.dim(2);
  if (of_weight != nullptr || of_bias != nullptr) {
    auto& problem = schedule.add<WeightGradientProblem>("gradients of the convolution's parameters");
    problem.batch = frames.dim(0);
    problem.rows = num_rows;
    problem.input_size = kKernel * size;
    problem.output_size = problem.head_size = options_.size;
    set_rows(schedule, problem.output_gradient, of_sum, 0);
    set_overlapping(schedule, problem.input, frames, step);
    set_gradients(schedule, problem, of_weight, of_bias);
  }
  if (!of_frames.is_given()) return;
  // The gradient of each row's three frames, which are then added up, since rows overlap.
  const Value of_rows = schedule.reserve(DType::F32, {frames.dim(0), num_rows, kKernel * size});
  LinearProblem& linear = schedule.add<LinearProblem>("gradient of the convolution's rows");
  linear.batch = frames.dim(0);
  linear.rows = num_rows;
  linear.input_size = options_.size;
  set_rows(schedule, linear.input, of_sum, 0);
  set_rows(schedule, linear.parts[0].output, of_rows, 0);
  set_transposed(schedule, context(), linear.parts[0], parameter_at(weight));
  add_zeros(schedule, "zero gradient", of_frames, of_frames.dim(1), 1);
  for (int64_t k = 0; k < kKernel; ++k) {
    auto& sum = schedule.add<ElementwiseProblem>("gradient of the frames");
    sum.sizes[kFrame - 1] = frames.dim(0);
    sum.sizes[kFrame] = num_rows;
    sum.sizes[kFrame + 1] = size;
    schedule.set_array(sum.inputs[0], of_rows, k * size);
    std::ranges::copy(std::to_array({of_rows.stride(0), of_rows.stride(1), int64_t{1}}),
                      sum.inputs[0].strides + kFrame - 1);
    for (ElementwiseOperand* const operand : {&sum.inputs[1], &sum.output}) {
      schedule.set_array(*operand, of_frames, k * of_frames.stride(1));
      std::ranges::copy(std::to_array({of_frames.stride(0), step * of_frames.stride(1), int64_t{1}}),
                        operand->strides + kFrame - 1);
    }
  }
}

void AudioEmbedding::compose_backward(Schedule& schedule, const LayerCall& call,
                                      const GradientValues& gradients) const {
  const Value& to = gradients.queries.to;
  const Value& addend = gradients.queries.addend;
  const Value of_hidden = schedule.reserve(DType::F32, call.arrays[1].shape());
  add_convolution_backward(schedule, second_convolution(call), call, gradients.output, 0, of_hidden);
  const Value of_padded = to.is_given() ? Value(schedule.reserve(DType::F32, call.arrays[0].shape())) : Value();
  add_convolution_backward(schedule, first_convolution(call), call, of_hidden, 1, of_padded);
  if (!to.is_given()) return;
  const auto set_features = [&](ElementwiseOperand& operand, const Value& features) {
    schedule.set_operand(operand, features, {-1, -1, -1, -1, -1, 0, 2, 1});
  };
  const auto set_sizes = [&](int64_t(&sizes)[kElementwiseRank]) {
    sizes[kFrame - 1] = to.dim(0);
    sizes[kFrame] = to.dim(2);
    sizes[kFrame + 1] = options_.num_mels;
  };
  constexpr const char* kOperation = "gradient of the features";
  if (addend.is_given()) {
    auto& sum = schedule.add<ElementwiseProblem>(kOperation);
    set_sizes(sum.sizes);
    set_inner_frames(schedule, sum.inputs[0], of_padded);
    set_features(sum.inputs[1], addend);
    set_features(sum.output, to);
    return;
  }
  auto& copy = schedule.add<DropoutProblem>(kOperation);
  set_sizes(copy.sizes);
  copy.transposes = 1;
  set_inner_frames(schedule, copy.input, of_padded);
  set_features(copy.output, to);
}

void AudioEmbedding::write_options(JsonWriter& json) const {
  json.member("num_mels", options_.num_mels);
  json.member("size", options_.size);
}

}  // namespace heed
