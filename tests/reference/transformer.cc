// SPDX-License-Identifier: Apache-2.0
#include "reference/transformer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "reference/error_bound.h"
#include "reference/philox.h"

namespace heed::reference {
namespace {

constexpr uint32_t kTimes = 3;

// Where an engine rounds the results of its operations to a 16-bit format, one rounding to it; otherwise to f32.
double rounding(std::optional<Format> format, double value, double error) {
  return format ? error_after_rounding(*format, value, error) : error + kUnitRoundoff * std::fabs(value);
}

Bounded sum(const std::vector<double>& a, const std::vector<double>& b, std::optional<Format> format) {
  Bounded result(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    result.values[i] = a[i] + b[i];
    result.errors[i] = rounding(format, result.values[i], 0.0);
  }
  return result;
}

// One more rounding, unless the factor is 1. In a 16-bit format the factor is rounded too.
void scale(double factor, std::optional<Format> format, Bounded& result) {
  if (factor == 1) return;
  for (size_t i = 0; i < result.values.size(); ++i) {
    const double inherited = std::fabs(factor) * result.errors[i];
    result.values[i] *= factor;
    const double of_factor = error_after_rounding(format, result.values[i], inherited);
    result.errors[i] = rounding(format, result.values[i], of_factor);
  }
}

Bounded attend(MultiHeadProblem problem, const std::vector<double>& queries, const std::vector<double>& keys) {
  problem.queries = queries;
  problem.keys = problem.values = keys;
  return multi_head_attention(problem).output;
}

// Moves numbers by their errors, with signs that depend on `seed`.
class Mover {
 public:
  explicit Mover(uint32_t seed) : seed_(seed) {}

  std::vector<double> operator()(Bounded result) {
    for (size_t i = 0; i < result.values.size(); ++i) {
      const bool up = (philox_4x32_10({count_++, 0, 0, 0}, {seed_, 0})[0] & 1) != 0;
      result.values[i] += up ? result.errors[i] : -result.errors[i];
    }
    return std::move(result.values);
  }

 private:
  uint32_t seed_;
  uint32_t count_ = 0;
};

}  // namespace

std::vector<double> transform(const TransformerStack& stack, std::vector<double> rows,
                              const std::vector<double>& encoder_rows, const AfterStep& after_step) {
  for (const TransformerLayer& layer : stack.layers) {
    for (size_t i = 0; i < layer.norms.size(); ++i) {
      const bool is_normalized = layer.norm_first && layer.norms[i].has_value();
      const std::vector<double> input = is_normalized ? after_step(normalize(*layer.norms[i], rows)) : rows;
      const bool is_cross = i == 1 && layer.cross_attention.has_value();
      Bounded result;
      if (i + 1 == layer.norms.size())
        result = feed_forward(layer.feed_forward, input);
      else
        result =
            is_cross ? attend(*layer.cross_attention, input, encoder_rows) : attend(layer.self_attention, input, input);
      scale(layer.residual_scale, stack.compute_format, result);
      if (!layer.output_norms.empty()) result = normalize(layer.output_norms[i], after_step(std::move(result)));
      drop(layer.dropouts[i], result, stack.compute_format);
      rows = after_step(sum(rows, after_step(std::move(result)), stack.compute_format));
      if (!layer.norm_first) rows = after_step(normalize(*layer.norms[i], rows));
    }
  }
  return stack.final_norm ? after_step(normalize(*stack.final_norm, rows)) : rows;
}

Bounded transform(const TransformerStack& stack, const std::vector<double>& rows,
                  const std::vector<double>& encoder_rows) {
  Bounded result;
  result.values = transform(stack, rows, encoder_rows, [](Bounded exact) { return std::move(exact.values); });
  result.errors.assign(rows.size(), 0.0);
  const size_t size = stack.layers.front().norms.back()->weight.size();
  for (uint32_t seed = 0; seed < kTimes; ++seed) {
    const std::vector<double> moved = transform(stack, rows, encoder_rows, Mover(seed));
    for (size_t first = 0; first < rows.size(); first += size) {
      double largest = 0.0;
      // Infinite where a step has no bound.
      for (size_t i = first; i < first + size; ++i) {
        const double difference = std::fabs(moved[i] - result.values[i]);
        largest = std::max(largest, std::isnan(difference) ? kInfinity : difference);
      }
      for (size_t i = first; i < first + size; ++i)
        result.errors[i] = std::max(result.errors[i], kTimesMoved * largest);
    }
  }
  return result;
}

}  // namespace heed::reference
