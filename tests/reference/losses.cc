// SPDX-License-Identifier: Apache-2.0
#include "reference/losses.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "reference/bounded_sum.h"
#include "reference/error_bound.h"

namespace heed::reference {
namespace {

// Loss and gradient of a token that counts.
class TokenLoss {
 public:
  TokenLoss(const CrossEntropyProblem& problem, int64_t token)
      : smoothing_(problem.label_smoothing),
        label_(static_cast<size_t>(problem.labels[static_cast<size_t>(token)])),
        logits_(problem.logits.begin() + token * problem.classes,
                problem.logits.begin() + (token + 1) * problem.classes),
        softmax_(softmax(logits_, logits_.size())),
        classes_(static_cast<double>(problem.classes)) {}

  BoundedNumber loss() const {
    const double maximum = *std::max_element(logits_.begin(), logits_.end());
    double sum = 0.0;
    double mean = 0.0;
    double magnitude = std::fabs(maximum);
    for (double logit : logits_) {
      sum += std::exp(logit - maximum);
      mean += (maximum - logit) / classes_;
      if (std::isfinite(logit)) magnitude = std::max(magnitude, std::fabs(logit));
    }
    if (std::isnan(softmax_.values[0])) return {kNaN, kInfinity};
    const double log = std::log(sum);
    const double value =
        (1.0 - smoothing_) * (log + (maximum - logits_[label_])) + (smoothing_ > 0.0 ? smoothing_ * (log + mean) : 0.0);
    // As log_softmax, with a sum of the logits more where there is smoothing.
    const double roundings =
        classes_ + 12.0 + (smoothing_ > 0.0 ? (classes_ + 4.0) * magnitude : 2.0 * magnitude) + 2.0 * log;
    return {value, std::isfinite(value) ? kSecondOrder * kUnitRoundoff * (roundings + 2.0 * std::fabs(value)) : 0.0};
  }

  // Of a logit, times `weight`.
  BoundedNumber gradient(size_t i, double weight) const {
    const double at_label = i == label_ ? 1.0 - smoothing_ : 0.0;
    const double everywhere = smoothing_ / classes_;
    const double value = weight * (softmax_.values[i] - at_label - everywhere);
    const double of_terms = 4.0 * kUnitRoundoff * (softmax_.values[i] + at_label + everywhere);
    return {value, std::fabs(weight) * (softmax_.errors[i] + of_terms) + 3.0 * kUnitRoundoff * std::fabs(value) +
                       underflow_error()};
  }

 private:
  double smoothing_;
  size_t label_;
  std::vector<double> logits_;
  Bounded softmax_;
  double classes_;
};

}  // namespace

CrossEntropyResult cross_entropy(const CrossEntropyProblem& problem) {
  const int64_t tokens = problem.batch * problem.steps;
  const auto counts = [&](int64_t token) {
    const bool is_ignored = problem.labels[static_cast<size_t>(token)] == problem.ignore_index;
    if (problem.lengths.empty()) return !is_ignored;
    return !is_ignored && token % problem.steps < problem.lengths[static_cast<size_t>(token / problem.steps)];
  };
  int64_t num_counted = 0;
  for (int64_t token = 0; token < tokens; ++token) num_counted += counts(token) ? 1 : 0;
  double weight = 1.0;
  if (problem.reduction == Reduction::Mean) weight = num_counted == 0 ? 0.0 : 1.0 / static_cast<double>(num_counted);
  if (problem.reduction == Reduction::MeanOfItems) weight = 1.0 / static_cast<double>(problem.steps);

  CrossEntropyResult result;
  result.losses = Bounded(static_cast<size_t>(tokens));
  result.logits = Bounded(problem.logits.size());
  for (int64_t token = 0; token < tokens; ++token) {
    if (!counts(token)) continue;
    const TokenLoss of_token(problem, token);
    const auto [loss, error] = of_token.loss();
    result.losses.values[static_cast<size_t>(token)] = loss;
    result.losses.errors[static_cast<size_t>(token)] = error;
    // The total is a double.
    result.total.value += weight * loss;
    result.total.error += weight * (error + kUnitRoundoff * std::fabs(loss));
    for (int64_t i = 0; i < problem.classes; ++i) {
      const auto element = static_cast<size_t>(token * problem.classes + i);
      const BoundedNumber gradient = of_token.gradient(static_cast<size_t>(i), weight);
      result.logits.values[element] = gradient.value;
      result.logits.errors[element] = gradient.error;
    }
  }
  if (std::isinf(result.total.value)) result.total.error = 0.0;
  return result;
}

SquaredError squared_error(const std::vector<double>& x, const std::vector<double>& target, double factor) {
  SquaredError result;
  BoundedSums gradient(static_cast<int64_t>(x.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = x[i] - target[i];
    result.total.value += factor * difference * difference;
    result.total.error +=
        std::fabs(factor) * kUnitRoundoff * (static_cast<double>(x.size()) + 4.0) * difference * difference;
    const double value = 2.0 * factor * difference;
    gradient.add(static_cast<int64_t>(i), value, 3.0 * kUnitRoundoff * std::fabs(value));
  }
  result.gradient = gradient.finish();
  return result;
}

}  // namespace heed::reference
