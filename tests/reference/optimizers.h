// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers in f64.
#pragma once

#include <cstdint>
#include <vector>

namespace heed::reference {

struct Sgd {
  double learning_rate = 0;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

// b = momentum * b + g + weight_decay * p, the first b being g + weight_decay * p; p -= learning_rate * b, with Nesterov's momentum
// learning_rate * (g + weight_decay * p + momentum * b). `buffer` is empty before the first step.
void step(const Sgd& options, const std::vector<double>& gradient, std::vector<double>& parameter,
          std::vector<double>& buffer);

struct Adam {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool is_coupled = false;  // Adam: the decay is added to the gradient. AdamW: the parameter is lessened by it first
  bool is_epsilon_uncorrected = false;  // added to the root of the second moment before its bias is corrected
};

struct Moments {
  int64_t num_steps = 0;
  std::vector<double> first, second;  // empty before the first step
};

void step(const Adam& options, const std::vector<double>& gradient, std::vector<double>& parameter, Moments& moments);

// The root of the sum of all squares.
double norm_of(const std::vector<std::vector<double>>& gradients);

// What gradients of this norm are multiplied by: min(1, max_norm / (norm + 1e-6)).
double clipping_factor(double norm, double max_norm);

}  // namespace heed::reference
