// SPDX-License-Identifier: Apache-2.0
#include "reference/feed_forward_gradients.h"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <utility>

#include "reference/bounded_sum.h"
#include "reference/error_bound.h"
#include "reference/linear_gradients.h"
#include "reference/named_gradients.h"
#include "reference/narrow_bound.h"
#include "reference/philox.h"

namespace heed::reference {
namespace {

double sigma(double y) { return 1.0 / (1.0 + std::exp(-y)); }

// An exponential below the smallest normal number may be 0, and so may a logistic function of one that overflows.
double of_small_exponentials(double factor) {
  return 2.0 * (1.0 + std::fabs(factor)) * (kSmallestNormalF32 + underflow_error());
}

// Of x sigma(y): sigma(y) + x y' sigma(y) sigma(-y). As in rule 18 a logistic function of -abs(y) is off by 4 abs(y) + 5 parts of
// itself, and so is what sigma(y) is less than 1 by; the second term is a product of both, with y' off by 5, and five products.
BoundedNumber slope_of_logistic(double x, double y, double y_slope) {
  const double first = sigma(y);
  const double second = x * y_slope * sigma(y) * sigma(-y);
  const double of_first = (4.0 * std::fabs(y) + 5.0) * sigma(-std::fabs(y)) + 4.0 * first;
  const double of_second = (8.0 * std::fabs(y) + 20.0) * std::fabs(second);
  const double error = of_first + of_second + std::fabs(first + second);
  return {first + second, kUnitRoundoff * error + of_small_exponentials(x * y_slope)};
}

}  // namespace

BoundedNumber activation_slope(Activation activation, double x) {
  const double root = std::sqrt(2.0 / std::numbers::pi);
  switch (activation) {
    case Activation::Relu: return {x <= 0.0 ? 0.0 : 1.0, std::isnan(x) ? kInfinity : 0.0};
    case Activation::Gelu: {
      // Phi(x) + x phi(x). Phi is off as it is in the activation, the exponential of x^2 / 2 by x^2 / 2 roundings of its argument
      // and by those of its own, of its factor and of the product with x.
      const double distribution = 0.5 * std::erfc(-x * std::sqrt(0.5));
      const double tail = 0.5 * std::erfc(std::fabs(x) * std::sqrt(0.5));
      const double density = x * std::exp(-0.5 * x * x) * root / 2.0;
      const double error = (1.12 * x * x + 9.0) * tail + 2.0 * distribution + (x * x + 8.0) * std::fabs(density) +
                           std::fabs(distribution + density);
      return {distribution + density, kUnitRoundoff * error + of_small_exponentials(x)};
    }
    case Activation::GeluTanh:
      return slope_of_logistic(x, 2.0 * root * (x + 0.044715 * x * x * x), 2.0 * root * (1.0 + 3.0 * 0.044715 * x * x));
    case Activation::GeluQuick: return slope_of_logistic(x, 1.702 * x, 1.702);
    case Activation::Silu: break;
  }
  return slope_of_logistic(x, x, 1.0);
}

Bounded activation_gradient(Activation activation, const std::vector<double>& x, const std::vector<double>& of_output,
                            int64_t size) {
  BoundedSums gradient(static_cast<int64_t>(x.size()));
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
    if (is_zero_row(of_output.data() + i / size * size, size)) continue;
    const double incoming = of_output[static_cast<size_t>(i)];
    const auto [slope, error] = activation_slope(activation, x[static_cast<size_t>(i)]);
    gradient.add(i, incoming * slope, std::fabs(incoming) * error);
  }
  return gradient.finish();
}

Bounded dropout_gradient(const Dropout& dropout, const std::vector<double>& of_output) {
  Bounded result(of_output.size());
  result.values = of_output;
  if (dropout.probability == 0) return result;
  const double factor = 1.0 / (1.0 - dropout.probability);
  for (size_t i = 0; i < of_output.size(); ++i) {
    const bool keeps = dropout_keeps(dropout.seed, dropout.probability, 0, 0, 0, static_cast<int64_t>(i));
    result.values[i] = keeps ? of_output[i] * factor : 0.0;
    // The factor is rounded, and so is the product.
    result.errors[i] = 2.0 * kUnitRoundoff * std::fabs(result.values[i]);
  }
  return result;
}

NamedRows feed_forward_gradients(const FeedForward& network, const std::vector<double>& rows,
                                 const std::vector<double>& of_output, const AfterStep& after_step) {
  const int64_t num_rows = static_cast<int64_t>(rows.size()) / network.first.input_size;
  const int64_t size = network.first.output_size;
  const auto projected = [&](const Projection& projection) {
    return after_step(project(projection, as_read(rows, std::nullopt), num_rows));
  };
  const std::vector<double> first = projected(network.first);
  const std::vector<double> gate = network.gate ? projected(*network.gate) : std::vector<double>();
  const std::vector<double>& activated_from = network.gate ? gate : first;
  BoundedSums hidden(static_cast<int64_t>(first.size()));
  for (size_t i = 0; i < first.size(); ++i) {
    const auto [value, error] = activate(network.activation, {activated_from[i], 0.0});
    const double factor = network.gate ? first[i] : 1.0;
    hidden.add(static_cast<int64_t>(i), value * factor, error * std::fabs(factor));
  }
  Bounded read = hidden.finish();
  drop(network.dropout, read, std::nullopt);
  NamedRows result;
  const ProjectionGradients second = projection_gradients(network.second, after_step(std::move(read)), of_output);
  add_projection("W_2", network.second, second, after_step, result);
  const std::vector<double> of_hidden = after_step(dropout_gradient(network.dropout, after_step(second.input)));

  std::vector<double> of_activated = of_hidden;
  std::vector<double> of_first;
  if (network.gate) {
    BoundedSums of_value(static_cast<int64_t>(first.size()));
    BoundedSums of_factor(static_cast<int64_t>(first.size()));
    for (int64_t i = 0; i < static_cast<int64_t>(first.size()); ++i) {
      const auto element = static_cast<size_t>(i);
      if (is_zero_row(of_hidden.data() + i / size * size, size)) continue;
      const auto [value, error] = activate(network.activation, {gate[element], 0.0});
      of_value.add(i, of_hidden[element] * first[element]);
      of_factor.add(i, of_hidden[element] * value, std::fabs(of_hidden[element]) * error);
    }
    of_activated = after_step(of_value.finish());
    of_first = after_step(of_factor.finish());
  }
  const std::vector<double> of_argument =
      after_step(activation_gradient(network.activation, activated_from, of_activated, size));
  const ProjectionGradients of_network =
      projection_gradients(network.first, rows, network.gate ? of_first : of_argument);
  add_projection("W_1", network.first, of_network, after_step, result);
  Bounded of_rows = of_network.input;
  if (network.gate) {
    const ProjectionGradients of_gate = projection_gradients(*network.gate, rows, of_argument);
    add_projection("W_gate", *network.gate, of_gate, after_step, result);
    of_rows = plus(of_rows, of_gate.input);
  }
  result["queries"] = {after_step(std::move(of_rows)), network.first.input_size};
  return result;
}

}  // namespace heed::reference
