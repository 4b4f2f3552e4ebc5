// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/audio_embedding.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layers/kinds/projection.h"
#include "ops/dropout.h"
#include "ops/linear.h"

namespace heed {
namespace {

// The frames that a convolution reads for one row.
constexpr int64_t kKernel = 3;
// Both convolutions read a frame of zeros before the first and after the last one.
constexpr int64_t kPadding = 2;
constexpr int64_t kMostSize = INT64_MAX / kKernel;

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

void AudioEmbedding::add_padding(Schedule& schedule, const Value& frames) const {
  // A dropout of 0 is a copy.
  DropoutProblem& copy = schedule.add<DropoutProblem>("pad frames");
  constexpr int kFrame = kElementwiseRank - 2;
  copy.sizes[kFrame - 1] = frames.dim(0);
  copy.sizes[kFrame] = kPadding;
  copy.sizes[kFrame + 1] = frames.dim(2);
  schedule.set_operand(copy.input, zeros_, {-1, -1, -1, -1, -1, -1, -1, 0});
  schedule.set_elementwise(copy.output, frames);
  copy.output.strides[kFrame] *= frames.dim(1) - 1;
}

void AudioEmbedding::add_convolution(Schedule& schedule, const char* operation, size_t weight, const Value& frames,
                                     int64_t step, int64_t num_rows, const Value& output, int64_t first_row) const {
  LinearProblem& linear = schedule.add<LinearProblem>(operation);
  linear.batch = frames.dim(0);
  linear.rows = num_rows;
  linear.input_size = kKernel * frames.dim(2);
  // Three frames lie one after another, and are the rows of a product that overlap.
  schedule.set_operand(linear.input, frames, {-1, 0, 1, 2});
  linear.input.strides[2] *= step;
  LinearPart& part = linear.parts[0];
  set_parameters(schedule, part, {parameter_at(weight), &parameter_at(weight + 1)});
  part.activation = Activation::Gelu;
  // Axes of size 1 have strides without a meaning.
  const int64_t strides[] = {0, output.dim(0) == 1 ? 0 : output.stride(0), output.dim(1) == 1 ? 0 : output.stride(1),
                             output.dim(2) == 1 ? 0 : output.stride(2)};
  schedule.set_array(part.output, output, first_row * strides[2]);
  std::ranges::copy(strides, part.output.strides);
}

void AudioEmbedding::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const Value& features = call.inputs.queries;
  const Value& padded = call.arrays[0];
  const Value& hidden = call.arrays[1];
  const int64_t num_frames = features.dim(2);
  add_padding(schedule, padded);
  DropoutProblem& copy = schedule.add<DropoutProblem>("transpose features");
  constexpr int kFrame = kElementwiseRank - 2;
  copy.sizes[kFrame - 1] = features.dim(0);
  copy.sizes[kFrame] = num_frames;
  copy.sizes[kFrame + 1] = options_.num_mels;
  copy.transposes = 1;
  schedule.set_operand(copy.input, features, {-1, -1, -1, -1, -1, 0, 2, 1});
  schedule.set_array(copy.output, padded, padded.stride(1));
  std::ranges::copy(std::to_array({padded.stride(0), padded.stride(1), int64_t{1}}), copy.output.strides + kFrame - 1);
  add_convolution(schedule, "convolve features", kWeight1, padded, 1, num_frames, hidden, 1);
  add_padding(schedule, hidden);
  add_convolution(schedule, "convolve every second frame", kWeight2, hidden, 2, call.shapes.output[1], outputs.output,
                  0);
}

void AudioEmbedding::write_options(JsonWriter& json) const {
  json.member("num_mels", options_.num_mels);
  json.member("size", options_.size);
}

}  // namespace heed
