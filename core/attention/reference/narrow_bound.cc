// SPDX-License-Identifier: Apache-2.0
#include "attention/reference/narrow_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed::reference {
namespace {

using Vector = Eigen::ArrayXd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Units in the last place by which a device's exponential and logarithm may be off.
constexpr double kExpUlps = 2.0;

double num_blocks(const NarrowRowParameters& parameters) {
  return std::ceil(static_cast<double>(parameters.num_keys) / static_cast<double>(kKeysPerNarrowBlock));
}

// Half of the smallest number: the largest error of rounding where the format has no normal numbers.
double underflow_of(Format format) { return smallest_number(format) / 2.0; }

// The least that an added mask holds for a visible key, below the row's largest bias.
double lowest_bias(Format format) { return format == Format::F16 ? -0x1p15 : -1e38; }

// Where the score of each key lies, around its true value.
struct Scores {
  Vector value;
  Vector below;
  Vector above;
};

// What every engine's score may be off by: inexact operands, and f32 on the way to the exponential, which of the CPU's
// arithmetic is half of rule 15's bracket.
double f32_error(const NarrowRowParameters& parameters, const KeyMagnitudes& key) {
  const BoundConstants& constants = parameters.constants;
  const double exponentials = 2.0 * kExpUlps * (1.0 + num_blocks(parameters));
  const double roundings =
      constants.c2 / 2.0 * (key.terms + key.inherited) + constants.c4 / 2.0 * parameters.largest_score + exponentials;
  return key.inherited + kUnitRoundoff * roundings + key.underflow;
}

double sum_of_exponentials(const Vector& exponents, double shift) { return (exponents - shift).exp().sum(); }

// log of the sum of exp(x), where one x at least is finite.
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

// A key's weight is largest where its own score is as high and all others are as low as they may be.
NarrowWeights weights_of(const NarrowRowParameters& parameters, const Scores& scores) {
  NarrowWeights weights;
  weights.high = shares(scores.value + scores.above, scores.value - scores.below);
  weights.low = shares(scores.value - scores.below, scores.value + scores.above);
  for (int64_t i = 0; i < scores.value.size(); ++i) {
    if (scores.value[i] == -kInfinity) weights.high[i] = weights.low[i] = 0.0;
  }
  const double log_sum_exp = log_sum(scores.value);
  // Of the sum over keys, the logarithm, and its addition to the maximum.
  const double num_keys = static_cast<double>(parameters.num_keys);
  const double roundings = num_keys + 2.0 * kExpUlps * std::log(num_keys) + 2.0 * std::fabs(log_sum_exp);
  weights.log_sum_exp_error =
      std::max(log_sum(scores.value + scores.above) - log_sum_exp, log_sum_exp - log_sum(scores.value - scores.below)) +
      kSecondOrder * kUnitRoundoff * roundings;
  return weights;
}

Scores exact_scores(const std::vector<KeyMagnitudes>& keys) {
  Scores scores;
  scores.value.resize(static_cast<int64_t>(keys.size()));
  for (int64_t i = 0; i < scores.value.size(); ++i) scores.value[i] = keys[static_cast<size_t>(i)].score;
  scores.below = scores.above = Vector::Zero(scores.value.size());
  return scores;
}

}  // namespace

NarrowWeights fused_weights(const NarrowRowParameters& parameters, const std::vector<KeyMagnitudes>& keys) {
  const double roundoff = unit_roundoff(parameters.format);
  const double lowest = lowest_bias(parameters.format);
  double largest_bias = -kInfinity;
  for (const KeyMagnitudes& key : keys) largest_bias = std::max(largest_bias, key.bias);
  Scores scores = exact_scores(keys);
  for (int64_t i = 0; i < scores.value.size(); ++i) {
    const KeyMagnitudes& key = keys[static_cast<size_t>(i)];
    if (key.score == -kInfinity) continue;
    double error = f32_error(parameters, key);
    double clamped = 0.0;
    if (parameters.has_bias) {
      const double bias = key.bias - largest_bias;
      clamped = std::max(0.0, lowest - bias);
      const double f32_roundings = std::fabs(key.bias) + std::fabs(largest_bias) + key.terms + std::fabs(bias);
      error += roundoff * std::fabs(bias) + underflow_of(parameters.format) + kUnitRoundoff * f32_roundings;
    }
    scores.below[i] = kSecondOrder * error;
    scores.above[i] = kSecondOrder * error + clamped;
  }
  return weights_of(parameters, scores);
}

NarrowWeights with_rounded_probabilities(const NarrowRowParameters& parameters, const NarrowWeights& weights) {
  // Of a probability, at most 1, and of their sum, at least 1.
  const double roundoff = unit_roundoff(parameters.format);
  const double smallest = underflow_of(parameters.format) + kSmallestNormalF32;
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
  const double scale = std::fabs(parameters.scale);
  bool is_known = true;
  Scores scores = exact_scores(keys);
  for (int64_t i = 0; i < scores.value.size(); ++i) {
    const KeyMagnitudes& key = keys[static_cast<size_t>(i)];
    if (key.score == -kInfinity) continue;
    // In units of the score that is rounded: scaled already, or scaled after it in f32.
    const double factor = scale <= 1.0 ? 1.0 : scale;
    double error = f32_error(parameters, key);
    if (scale <= 1.0) error += (roundoff + 2.0 * kUnitRoundoff) * (key.terms + key.inherited) + underflow * key.key;
    const double largest = std::fabs(key.scaled) + error;
    is_known = is_known && largest / factor * (1.0 + roundoff) <= largest_number(parameters.format);
    error += roundoff * largest + factor * underflow;
    scores.below[i] = scores.above[i] = kSecondOrder * error;
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
