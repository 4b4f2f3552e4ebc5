// SPDX-License-Identifier: Apache-2.0
#include "reference/narrow_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed::reference {
namespace {

using Vector = Eigen::ArrayXd;

double num_blocks(const NarrowRowParameters& parameters) {
  return std::ceil(static_cast<double>(parameters.num_keys) / static_cast<double>(kKeysPerNarrowBlock));
}

// Half of the smallest number: the largest rounding error below the format's normal numbers.
double underflow_of(Format format) { return smallest_number(format) / 2.0; }

// The lowest number in the added mask at a visible key, relative to the largest bias of the row. Lower ones are
// clamped.
double lowest_bias(Format format) { return format == Format::F16 ? -0x1p15 : -1e38; }

// The score of each key, and the interval of an engine's score.
struct Scores {
  Vector value;
  Vector low;
  Vector high;
};

// The largest of the row.
struct Largest {
  double score = -kInfinity;
  double bias = -kInfinity;  // the device subtracts it from every bias of the row before it adds the bias
};

Largest largest_of(const std::vector<KeyMagnitudes>& keys) {
  Largest largest;
  for (const KeyMagnitudes& key : keys) {
    largest.score = std::max(largest.score, key.score);
    largest.bias = std::max(largest.bias, key.bias);
  }
  return largest;
}

// The error of an engine's score before the bias: inexact operands, and a sum in f32.
double error_of_scaled(const NarrowRowParameters& parameters, const KeyMagnitudes& key) {
  return key.inherited + kUnitRoundoff * parameters.constants.c2 / 2.0 * (key.terms + key.inherited) + key.underflow;
}

// The further error up to the exponential, in f32, for a score of this magnitude and a bias that is added. The
// constants of rule 15 are for twice as many roundings, hence c4 / 2.
double error_of_rest(const NarrowRowParameters& parameters, const KeyMagnitudes& key, double score, double bias) {
  const double exponentials = kNarrowExpRoundoffs * (1.0 + num_blocks(parameters));
  double roundings = parameters.constants.c4 / 2.0 * std::max(std::fabs(score), parameters.soft_cap) + exponentials;
  // The bias minus the largest bias, then its sum with the score.
  if (parameters.has_bias) roundings += 2.0 * std::fabs(bias) + key.terms + key.inherited;
  return kUnitRoundoff * roundings;
}

double sum_of_exponentials(const Vector& exponents, double shift) { return (exponents - shift).exp().sum(); }

// The logarithm of the sum of exp(x). At least one x is finite.
double log_sum(const Vector& x) {
  const double largest = x.maxCoeff();
  return largest + std::log(sum_of_exponentials(x, largest));
}

// exp(own) / (exp(own) + sum over the other keys of exp(others)).
Vector shares(const Vector& own, const Vector& others) {
  const double largest = others.maxCoeff();
  const double sum = sum_of_exponentials(others, largest);
  Vector result(own.size());
  for (int64_t i = 0; i < own.size(); ++i) {
    const double rest = std::max(0.0, sum - std::exp(others[i] - largest));
    result[i] = rest == 0.0 ? 1.0 : 1.0 / (1.0 + rest * std::exp(largest - own[i]));
  }
  return result;
}

// A key's weight is largest if its own score is the highest and all other scores are the lowest of their intervals.
NarrowWeights weights_of(const NarrowRowParameters& parameters, const Scores& scores) {
  NarrowWeights weights;
  weights.high = shares(scores.high, scores.low);
  weights.low = shares(scores.low, scores.high);
  for (int64_t i = 0; i < scores.value.size(); ++i) {
    if (scores.value[i] == -kInfinity) weights.high[i] = weights.low[i] = 0.0;
  }
  const double log_sum_exp = log_sum(scores.value);
  // The roundings of the sum over keys, of the logarithm, and of its addition to the maximum.
  const double num_keys = static_cast<double>(parameters.num_keys);
  const double roundings = num_keys + kNarrowExpRoundoffs * std::log(num_keys) + 2.0 * std::fabs(log_sum_exp);
  weights.log_sum_exp_error = std::max(log_sum(scores.high) - log_sum_exp, log_sum_exp - log_sum(scores.low)) +
                              kSecondOrder * kUnitRoundoff * roundings;
  return weights;
}

// The ratio of a score to the product that is rounded to the format. The query is first multiplied by the largest power
// of two that is not above the scale, for scales of up to 1. That rounds only below the format's normal numbers.
double factor_of_rounded(double scale) {
  const double size = std::fabs(scale);
  if (size == 0.0) return 1.0;
  return size > 1.0 ? size : std::ldexp(size, -std::ilogb(size));
}

Scores exact_scores(const std::vector<KeyMagnitudes>& keys) {
  Scores scores;
  scores.value.resize(static_cast<int64_t>(keys.size()));
  for (int64_t i = 0; i < scores.value.size(); ++i) scores.value[i] = keys[static_cast<size_t>(i)].score;
  scores.low = scores.high = scores.value;
  return scores;
}

}  // namespace

NarrowWeights fused_weights(const NarrowRowParameters& parameters, const std::vector<KeyMagnitudes>& keys) {
  const double roundoff = unit_roundoff(parameters.format);
  const double lowest = lowest_bias(parameters.format);
  const Largest largest = largest_of(keys);
  Scores scores = exact_scores(keys);
  for (int64_t i = 0; i < scores.value.size(); ++i) {
    const KeyMagnitudes& key = keys[static_cast<size_t>(i)];
    if (key.score == -kInfinity) continue;
    const auto error = [&](double score, double bias) {
      const double of_bias = parameters.has_bias ? roundoff * std::fabs(bias) + underflow_of(parameters.format) : 0.0;
      const double size = std::max(std::fabs(score), std::fabs(largest.score));
      return kSecondOrder * (error_of_scaled(parameters, key) + of_bias + error_of_rest(parameters, key, size, bias));
    };
    const double bias = parameters.has_bias ? key.bias - largest.bias : 0.0;
    scores.low[i] = key.score - error(key.score, bias);
    scores.high[i] = key.score + error(key.score, bias);
    if (bias >= lowest) continue;
    const double clamped = key.scaled + lowest + largest.bias;
    scores.high[i] = std::max(scores.high[i], clamped + error(clamped, lowest));
  }
  return weights_of(parameters, scores);
}

NarrowWeights with_rounded_probabilities(const NarrowRowParameters& parameters, const NarrowWeights& weights) {
  // For a probability, at most 1, and for their sum, at least 1.
  const double roundoff = unit_roundoff(parameters.format);
  const double smallest = underflow_of(parameters.format) + kLeastExponential;
  const auto num_keys = static_cast<double>(parameters.num_keys);
  const double sum = roundoff + num_keys * smallest;
  const double f32 = kSecondOrder * kUnitRoundoff * (2.0 * num_keys + 8.0 * num_blocks(parameters) + 8.0);
  NarrowWeights result;
  result.is_known = weights.is_known && sum < 0.5;
  result.high = (weights.high * (1.0 + roundoff) + smallest) / (1.0 - sum) * (1.0 + f32);
  result.low = ((weights.low * (1.0 - roundoff) - smallest) / (1.0 + sum) * (1.0 - f32)).max(0.0);
  return result;
}

NarrowWeights unfused_weights(const NarrowRowParameters& parameters, const std::vector<KeyMagnitudes>& keys) {
  const double roundoff = unit_roundoff(parameters.format);
  const double underflow = underflow_of(parameters.format);
  const double factor = factor_of_rounded(parameters.scale);
  const Largest largest = largest_of(keys);
  bool is_known = true;
  Scores scores = exact_scores(keys);
  for (int64_t i = 0; i < scores.value.size(); ++i) {
    const KeyMagnitudes& key = keys[static_cast<size_t>(i)];
    if (key.score == -kInfinity) continue;
    double error = error_of_scaled(parameters, key) + factor * underflow * key.key;
    const double rounded = std::fabs(key.scaled) + error;
    is_known = is_known && rounded / factor * (1.0 + roundoff) <= largest_number(parameters.format);
    error += roundoff * rounded + factor * underflow;
    const double size = std::max(std::fabs(key.score), std::fabs(largest.score));
    error += error_of_rest(parameters, key, size, parameters.has_bias ? key.bias - largest.bias : 0.0);
    scores.low[i] = key.score - kSecondOrder * error;
    scores.high[i] = key.score + kSecondOrder * error;
  }
  NarrowWeights weights = weights_of(parameters, scores);
  weights.is_known = is_known;
  const auto num_keys = static_cast<double>(parameters.num_keys);
  const double f32 = kSecondOrder * kUnitRoundoff * (2.0 * num_keys + 6.0 * num_blocks(parameters) + 4.0);
  weights.high = weights.high * (1.0 + f32) + kSmallestNormalF32;
  weights.low = (weights.low * (1.0 - f32) - kSmallestNormalF32).max(0.0);
  return weights;
}

}  // namespace heed::reference
