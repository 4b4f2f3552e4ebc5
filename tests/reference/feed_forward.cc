// SPDX-License-Identifier: Apache-2.0
#include "reference/feed_forward.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "reference/error_bound.h"
#include "reference/philox.h"

namespace heed::reference {
namespace {

// The largest slope of an activation is 1.13, of GELU at the root of 2. The rest covers that errors which follow from x
// are computed from x without its error.
constexpr double kLargestSlope = 1.14;

double logistic(double y) { return 1.0 / (1.0 + std::exp(-y)); }

double normal_distribution(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }

// x sigma(y).
BoundedNumber times_logistic(double x, double y) {
  const double value = x * logistic(y);
  const double error = (4 * std::fabs(y) + 5) * std::fabs(x) * logistic(-std::fabs(y)) + 4 * std::fabs(value);
  return {value, error * kUnitRoundoff};
}

// The errors are those of the table in docs/semantics.md, rule 18.
BoundedNumber activate(Activation activation, double x) {
  switch (activation) {
    case Activation::Relu: return {x < 0 ? 0.0 : x, 0.0};
    case Activation::Gelu: {
      const double value = x * normal_distribution(x);
      const double tail = std::fabs(x) * normal_distribution(-std::fabs(x));
      return {value, ((1.12 * x * x + 9) * tail + 2 * std::fabs(value)) * kUnitRoundoff};
    }
    case Activation::GeluTanh: {
      constexpr double kPi = 3.14159265358979323846;
      return times_logistic(x, 2 * std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x));
    }
    case Activation::GeluQuick: return times_logistic(x, 1.702 * x);
    case Activation::Silu: break;
  }
  return times_logistic(x, x);
}

}  // namespace

BoundedNumber activate(Activation activation, const BoundedNumber& x, std::optional<Format> compute_format) {
  BoundedNumber result = activate(activation, x.value);
  // Exponentials below the smallest normal number are off by up to a subnormal one.
  result.error += kLargestSlope * x.error + 2 * (1 + std::fabs(x.value)) * underflow_error();
  // An engine that rounds to a format has a GELU that is half of x times 1 + a function, which cancels where x is
  // negative.
  if (compute_format) result.error += 4 * kUnitRoundoff * std::fabs(x.value);
  result.error = error_after_rounding(compute_format, result.value, result.error);
  return result;
}

void drop(const Dropout& dropout, Bounded& array, std::optional<Format> compute_format) {
  if (dropout.probability == 0) return;
  for (size_t i = 0; i < array.values.size(); ++i) {
    const bool keeps = dropout_keeps(dropout.seed, dropout.probability, 0, 0, 0, static_cast<int64_t>(i));
    const double factor = keeps ? 1.0 / (1.0 - dropout.probability) : 0.0;
    array.values[i] *= factor;
    // The factor is rounded, and so is the product.
    const double error = array.errors[i] * factor + 2 * kUnitRoundoff * (std::fabs(array.values[i]) + array.errors[i]);
    array.errors[i] = error_after_rounding(compute_format, array.values[i], error);
  }
}

Bounded feed_forward(const FeedForward& network, const std::vector<double>& rows) {
  const std::optional<Format> format = network.compute_format;
  const Bounded input = as_read(rows, format);
  const int64_t num_rows = static_cast<int64_t>(rows.size()) / network.first.input_size;
  Bounded hidden = project(network.first, input, num_rows, format);
  Bounded activated = network.gate ? project(*network.gate, input, num_rows, format) : std::move(hidden);
  for (size_t i = 0; i < activated.values.size(); ++i) {
    const auto [value, error] = activate(network.activation, {activated.values[i], activated.errors[i]}, format);
    activated.values[i] = value;
    activated.errors[i] = error;
    if (!network.gate) continue;
    const double of_factors =
        std::fabs(value) * hidden.errors[i] + (std::fabs(hidden.values[i]) + hidden.errors[i]) * error;
    activated.values[i] *= hidden.values[i];
    activated.errors[i] = error_after_rounding(
        format, activated.values[i],
        of_factors + kUnitRoundoff * (std::fabs(activated.values[i]) + of_factors) + underflow_error());
  }
  drop(network.dropout, activated, format);
  return project(network.second, activated, num_rows, format);
}

}  // namespace heed::reference
