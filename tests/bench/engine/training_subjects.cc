// SPDX-License-Identifier: Apache-2.0
#include "training_subjects.h"

#include <algorithm>
#include <cstring>

#include "encoder_data.h"
#include "fail.h"
#include "heed_subject.h"
#include "processors.h"

namespace bench {
namespace {

Dims dims_of(const heed_tensor* tensor) {
  Dims dims;
  for (int32_t axis = 0; axis < heed_tensor_rank(tensor); ++axis) dims.push_back(heed_tensor_dim(tensor, axis));
  return dims;
}

Layer make_layer(heed_context* context, const BenchCase& bench_case, const Data& data) {
  switch (bench_case.kind) {
    case Kind::kEncoder: return make_encoder(context, bench_case);
    case Kind::kLinear: return linear_layer(context, bench_case, data.weights[0].get());
    default: return attention_layer(context, bench_case);
  }
}

Optimizer make_optimizer(heed_context* context) {
  heed_adamw_options options = HEED_ADAMW_OPTIONS_INIT;
  // Parameters stay close to those of the other libraries.
  options.learning_rate = 1e-7;
  heed_optimizer* optimizer = nullptr;
  check(heed_adamw_create(context, &options, &optimizer));
  return Optimizer(optimizer);
}

}  // namespace

Tensor random_output_gradient(heed_context* context, const Dims& dims) {
  return random_tensor(context, HEED_F32, dims, 30, 1);
}

TrainingLayer::TrainingLayer(const BenchCase& bench_case, const Data& data, int threads)
    : context_(make_context(threads)) {
  // Packing the first weight, or the first workspace, starts the context's threads.
  const StartingThreads elsewhere;
  layer_ = make_layer(context_.get(), bench_case, data);
  inputs_.queries = data.queries.get();
  if (!data.keys.empty()) {
    inputs_.keys = data.keys[0].get();
    inputs_.values = data.values[0].get();
  }
  inputs_.valid_lens = data.lengths.get();
  inputs_.mask = data.mask.get();
  check(heed_layer_create_outputs(layer_.get(), &inputs_, HEED_WANT_OUTPUT, &outputs_));
  output_.reset(outputs_.output);
  std::memset(heed_tensor_data(output_.get()), 0, heed_tensor_num_bytes(output_.get()));
  want_gradients(bench_case);

  check(heed_layer_saved_size(layer_.get(), &inputs_, &saved_bytes_));
  check(heed_saved_create(context_.get(), saved_bytes_, &outputs_.saved));
  saved_.reset(outputs_.saved);
  size_t of_forward = 0;
  check(heed_layer_workspace_size(layer_.get(), &inputs_, &outputs_, &of_forward));
  check(heed_layer_backward_workspace_size(layer_.get(), &inputs_, &outputs_, &wanted_, &workspace_bytes_));
  heed_workspace* workspace = nullptr;
  check(heed_workspace_create(context_.get(), std::max(of_forward, workspace_bytes_), &workspace));
  workspace_.reset(workspace);
}

Tensor TrainingLayer::gradient_like(const heed_tensor* input) {
  Tensor gradient = make_tensor(context_.get(), HEED_F32, dims_of(input));
  std::memset(heed_tensor_data(gradient.get()), 0, heed_tensor_num_bytes(gradient.get()));
  return gradient;
}

void TrainingLayer::want_gradients(const BenchCase& bench_case) {
  output_gradient_ = random_output_gradient(context_.get(), dims_of(output_.get()));
  wanted_.output = output_gradient_.get();
  if (bench_case.gradients != Gradients::kOfWeight) {
    const std::pair<const heed_tensor*, heed_tensor**> inputs[] = {
        {inputs_.queries, &wanted_.queries}, {inputs_.keys, &wanted_.keys}, {inputs_.values, &wanted_.values}};
    for (const auto& [input, gradient] : inputs) {
      if (input == nullptr) continue;
      input_gradients_.push_back(gradient_like(input));
      *gradient = input_gradients_.back().get();
    }
  }
  if (bench_case.kind == Kind::kAttention || bench_case.gradients == Gradients::kOfInput) return;
  check(heed_gradients_create(layer_.get(), &wanted_.parameters));
  parameter_gradients_.reset(wanted_.parameters);
  if (bench_case.kind == Kind::kEncoder) optimizer_ = make_optimizer(context_.get());
}

void TrainingLayer::forward() { check(heed_layer_forward(layer_.get(), &inputs_, workspace_.get(), &outputs_)); }

void TrainingLayer::backward() {
  check(heed_layer_backward(layer_.get(), &inputs_, &outputs_, workspace_.get(), &wanted_));
}

void TrainingLayer::step() { check(heed_optimizer_step(optimizer_.get(), layer_.get(), parameter_gradients_.get())); }

std::vector<float> TrainingLayer::gradients() const {
  std::vector<float> all;
  const auto add = [&all](const heed_tensor* gradient) {
    const std::vector<float> numbers = read_floats(gradient);
    all.insert(all.end(), numbers.begin(), numbers.end());
  };
  for (const Tensor& gradient : input_gradients_) add(gradient.get());
  if (parameter_gradients_ != nullptr && heed_gradients_count(parameter_gradients_.get()) == 1) {
    heed_tensor* view = nullptr;
    check(heed_gradients_tensor(parameter_gradients_.get(), "weight", &view));
    add(Tensor(view).get());
  }
  return all;
}

void TrainingSubject::call() {
  switch (part_) {
    case TrainingPart::kForward: layer_->forward(); break;
    case TrainingPart::kBackward: layer_->backward(); break;
    case TrainingPart::kStep: layer_->step(); break;
  }
}

void TrainingSubject::restore() {
  if (must_restore()) layer_->forward();
}

}  // namespace bench
