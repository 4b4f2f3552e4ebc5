// SPDX-License-Identifier: Apache-2.0
#include "reference/optimizers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace heed::reference {

void step(const Sgd& options, const std::vector<double>& gradient, std::vector<double>& parameter,
          std::vector<double>& buffer) {
  const bool is_first = buffer.empty();
  if (is_first) buffer.resize(parameter.size());
  for (size_t i = 0; i < parameter.size(); ++i) {
    const double g = gradient[i] + options.weight_decay * parameter[i];
    buffer[i] = is_first ? g : options.momentum * buffer[i] + g;
    parameter[i] -= options.learning_rate * (options.nesterov ? g + options.momentum * buffer[i] : buffer[i]);
  }
}

void step(const Adam& options, const std::vector<double>& gradient, std::vector<double>& parameter, Moments& moments) {
  moments.first.resize(parameter.size());
  moments.second.resize(parameter.size());
  const auto count = static_cast<double>(++moments.num_steps);
  const double of_first = 1.0 - std::pow(options.beta1, count);
  const double root_of_second = std::sqrt(1.0 - std::pow(options.beta2, count));
  for (size_t i = 0; i < parameter.size(); ++i) {
    const double decay = options.weight_decay * parameter[i];
    const double g = gradient[i] + (options.is_coupled ? decay : 0.0);
    if (!options.is_coupled) parameter[i] -= options.learning_rate * decay;
    double& m = moments.first[i];
    double& v = moments.second[i];
    m = options.beta1 * m + (1.0 - options.beta1) * g;
    v = options.beta2 * v + (1.0 - options.beta2) * g * g;
    const double root = options.is_epsilon_uncorrected ? (std::sqrt(v) + options.epsilon) / root_of_second
                                                       : std::sqrt(v) / root_of_second + options.epsilon;
    parameter[i] -= options.learning_rate / of_first * m / root;
  }
}

double norm_of(const std::vector<std::vector<double>>& gradients) {
  double sum = 0.0;
  for (const std::vector<double>& gradient : gradients) {
    for (double element : gradient) sum += element * element;
  }
  return std::sqrt(sum);
}

double clipping_factor(double norm, double max_norm) { return std::min(1.0, max_norm / (norm + 1e-6)); }

}  // namespace heed::reference
