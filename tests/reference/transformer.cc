// SPDX-License-Identifier: Apache-2.0
#include "reference/transformer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "reference/error_bound.h"

namespace heed::reference {
namespace {

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
  const auto size = static_cast<int64_t>(stack.layers.front().norms.back()->weight.size());
  const auto moved = with_moved_steps([&](const AfterStep& after_step) -> NamedRows {
    return {{"rows", {transform(stack, rows, encoder_rows, after_step), size}}};
  });
  return moved.at("rows");
}

}  // namespace heed::reference
