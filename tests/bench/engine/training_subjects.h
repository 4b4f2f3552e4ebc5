// SPDX-License-Identifier: Apache-2.0
// The parts of a training step of heed, each as a subject: a forward that keeps what the backward reads, the backward, and
// for layers with more than one parameter a step of AdamW.
#ifndef HEED_BENCH_TRAINING_SUBJECTS_H
#define HEED_BENCH_TRAINING_SUBJECTS_H

#include <memory>
#include <string>
#include <vector>

#include "data.h"
#include "subject.h"

namespace bench {

class TrainingLayer {
 public:
  TrainingLayer(const BenchCase& bench_case, const Data& data, int threads);

  void forward();
  // After forward, with the same parameters.
  void backward();
  void step();

  // Of the last backward: by the inputs, and for a projection by the weight, one after another.
  [[nodiscard]] std::vector<float> gradients() const;
  [[nodiscard]] bool has_optimizer() const { return optimizer_ != nullptr; }
  [[nodiscard]] size_t workspace_bytes() const { return workspace_bytes_; }
  [[nodiscard]] size_t saved_bytes() const { return saved_bytes_; }

 private:
  Tensor gradient_like(const heed_tensor* input);
  void want_gradients(const BenchCase& bench_case);

  Context context_;
  Layer layer_;
  heed_layer_inputs inputs_ = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs_ = HEED_LAYER_OUTPUTS_INIT;
  heed_layer_gradients wanted_ = HEED_LAYER_GRADIENTS_INIT;
  Tensor output_;
  Tensor output_gradient_;
  std::vector<Tensor> input_gradients_;
  GradientSet parameter_gradients_;
  Optimizer optimizer_;
  Saved saved_;
  Workspace workspace_;
  size_t workspace_bytes_ = 0;  // of the backward
  size_t saved_bytes_ = 0;
};

// The gradient by the output of each case: the peers of a case read the same numbers.
Tensor random_output_gradient(heed_context* context, const Dims& dims);

enum class TrainingPart { kForward, kBackward, kStep };

class TrainingSubject : public Subject {
 public:
  TrainingSubject(std::shared_ptr<TrainingLayer> layer, TrainingPart part) : layer_(std::move(layer)), part_(part) {}

  [[nodiscard]] std::string library() const override { return "heed"; }
  [[nodiscard]] std::string name() const override { return library(); }
  void call() override;
  // A backward is refused after a step, until a forward has used the new parameters.
  [[nodiscard]] bool must_restore() const override { return part_ == TrainingPart::kStep; }
  void restore() override;
  [[nodiscard]] std::vector<float> output() const override { return layer_->gradients(); }

 private:
  std::shared_ptr<TrainingLayer> layer_;
  TrainingPart part_;
};

}  // namespace bench

#endif  // HEED_BENCH_TRAINING_SUBJECTS_H
