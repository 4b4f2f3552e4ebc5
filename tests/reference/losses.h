// SPDX-License-Identifier: Apache-2.0
// Losses and their gradients in f64, with the error of an f32 engine.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/operations.h"

namespace heed::reference {

enum class Reduction {
  Mean,         // over the tokens that count; 0 if there is none
  Sum,          // over the tokens that count
  MeanOfItems,  // for each batch element its sum over the steps, divided by the number of all steps; and the sum of these
};

struct CrossEntropyProblem {
  int64_t batch = 1;
  int64_t steps = 1;
  int64_t classes = 1;
  std::vector<double> logits;    // (batch, steps, classes)
  std::vector<int64_t> labels;   // (batch, steps)
  std::vector<int64_t> lengths;  // (batch), or empty: later steps do not count
  double label_smoothing = 0;
  int64_t ignore_index = -100;  // a label that does not count
  Reduction reduction = Reduction::Mean;
};

// A token that does not count has a loss and gradients of 0, and its logits are not read. -inf is a probability of 0: as the label's
// logit, and with smoothing as any, the loss is infinite, but its gradient is not.
struct CrossEntropyResult {
  Bounded
      losses;  // (batch, steps): (1 - smoothing) (log_sum_exp - logit of the label) + smoothing (log_sum_exp - mean of the logits)
  BoundedNumber total;
  Bounded logits;  // the gradient of the total: weight (softmax - (1 - smoothing) at the label - smoothing / classes)
};
CrossEntropyResult cross_entropy(const CrossEntropyProblem& problem);

// factor * sum over i of (x_i - target_i)^2, and its gradient by x; by the target it is the negative.
struct SquaredError {
  BoundedNumber total;
  Bounded gradient;
};
SquaredError squared_error(const std::vector<double>& x, const std::vector<double>& target, double factor);

}  // namespace heed::reference
