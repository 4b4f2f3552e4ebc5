// SPDX-License-Identifier: Apache-2.0
#include "reference/norm_gradients.h"

#include <Eigen/Core>
#include <cmath>
#include <cstddef>

#include "reference/bounded_sum.h"
#include "reference/error_bound.h"

namespace heed::reference {
namespace {

using Elements = Eigen::ArrayXd;
using ConstElements = Eigen::Map<const Elements>;

// A row before its weight, as an engine has it again in its backward pass.
struct NormalizedRow {
  Elements y;
  Elements error;        // of y
  double root = 1.0;     // n
  double of_root = 0.0;  // the largest relative error of n
};

NormalizedRow normalized(const ConstElements& x, double epsilon, bool subtracts_mean) {
  NormalizedRow row;
  const Elements difference = subtracts_mean ? Elements(x - x.mean()) : Elements(x);
  row.root = std::sqrt(difference.square().mean() + epsilon);
  row.y = difference / row.root;
  return row;
}

// The bound of docs/semantics.md, rule 18, with a weight of 1 and without a bias. Errors of y move the root by at most their root
// mean square, and its sum of squares has half of size + 10 roundings.
NormalizedRow normalized_row(const ConstElements& x, double epsilon, bool subtracts_mean) {
  NormalizedRow row = normalized(x, epsilon, subtracts_mean);
  const auto size = static_cast<double>(x.size());
  row.error = (size + 8.0) * kUnitRoundoff * (row.y.abs() + 1.0) +
              size * kUnitRoundoff * kUnitRoundoff * x.abs().maxCoeff() / row.root +
              2.0 * (1.0 + 1.0 / row.root) * underflow_error();
  row.of_root = kSecondOrder * (std::sqrt(row.error.square().mean()) + (size / 2.0 + 5.0) * kUnitRoundoff);
  return row;
}

// The steps of docs/semantics.md, section "Norms and rotations": the mean is off by size roundings.
NormalizedRow normalized_head(const ConstElements& x, double epsilon, bool subtracts_mean) {
  NormalizedRow row = normalized(x, epsilon, subtracts_mean);
  const auto size = static_cast<double>(x.size());
  Elements of_difference = Elements::Zero(x.size());
  if (subtracts_mean) {
    const double of_mean = size * kUnitRoundoff * x.abs().mean() + underflow_error();
    of_difference = (of_mean + kUnitRoundoff * row.y.abs() * row.root) / row.root;
  }
  const double roundings = (size / 2.0 + 5.0) * kUnitRoundoff + underflow_error() / (row.root * row.root);
  row.of_root = kSecondOrder * (std::sqrt(of_difference.square().mean()) + roundings);
  row.error = kSecondOrder * (of_difference + row.y.abs() * row.of_root) + underflow_error();
  return row;
}

// dx of a row, and what it adds to the sums of the weight and the bias.
class RowOfNorm {
 public:
  RowOfNorm(const NormalizedRow& row, const ConstElements& weight, const ConstElements& of_output, bool subtracts_mean)
      : row_(row), weight_(weight), of_output_(of_output), subtracts_mean_(subtracts_mean) {}

  void write_input_gradient(int64_t first, Bounded& result) const {
    const auto size = static_cast<double>(row_.y.size());
    const double sum = kUnitRoundoff * (size + 1.0);
    const Elements t = of_output_ * weight_;
    const double mean = subtracts_mean_ ? t.mean() : 0.0;
    const double of_mean = subtracts_mean_ ? (sum + kUnitRoundoff) * t.abs().mean() : 0.0;
    const double product = (t * row_.y).mean();
    const double of_product = (t.abs() * row_.error).mean() + (sum + 2.0 * kUnitRoundoff) * (t * row_.y).abs().mean();
    const Elements bracket = t - mean - row_.y * product;
    const Elements magnitude = t.abs() + std::fabs(mean) + (row_.y * product).abs();
    const Elements of_bracket = of_mean + row_.error * (std::fabs(product) + of_product) + row_.y.abs() * of_product +
                                4.0 * kUnitRoundoff * magnitude;
    const Elements gradient = bracket / row_.root;
    const Elements error =
        kSecondOrder * (of_bracket / row_.root + gradient.abs() * (row_.of_root + 3.0 * kUnitRoundoff)) +
        4.0 * (1.0 + 1.0 / row_.root) * (1.0 + row_.y.abs()) * underflow_error();
    for (int64_t i = 0; i < gradient.size(); ++i) {
      const auto element = static_cast<size_t>(first + i);
      const bool is_known = std::isfinite(gradient[i]) && magnitude[i] / row_.root <= kLargestCovered;
      result.values[element] = std::isfinite(gradient[i]) ? gradient[i] : kNaN;
      result.errors[element] = is_known ? error[i] : kInfinity;
    }
  }

  void add_to(int64_t first, BoundedSums& weights) const {
    for (int64_t i = 0; i < of_output_.size(); ++i)
      weights.add(first + i, of_output_[i] * row_.y[i], std::fabs(of_output_[i]) * row_.error[i]);
  }

 private:
  const NormalizedRow& row_;
  const ConstElements& weight_;
  const ConstElements& of_output_;
  bool subtracts_mean_;
};

}  // namespace

NormGradients norm_gradients(const Norm& norm, const std::vector<double>& rows, const std::vector<double>& of_output) {
  const auto size = static_cast<int64_t>(norm.weight.size());
  const ConstElements weight(norm.weight.data(), size);
  Bounded of_rows(rows.size());
  BoundedSums weights(size);
  BoundedSums biases(static_cast<int64_t>(norm.bias.size()));
  for (int64_t first = 0; first < static_cast<int64_t>(rows.size()); first += size) {
    if (is_zero_row(of_output.data() + first, size)) continue;
    const ConstElements of_row(of_output.data() + first, size);
    const NormalizedRow row =
        normalized_row(ConstElements(rows.data() + first, size), norm.epsilon, norm.subtracts_mean);
    const RowOfNorm gradients(row, weight, of_row, norm.subtracts_mean);
    gradients.write_input_gradient(first, of_rows);
    gradients.add_to(0, weights);
    for (int64_t i = 0; i < static_cast<int64_t>(norm.bias.size()); ++i) biases.add(i, of_row[i]);
  }
  return {of_rows, weights.finish(), biases.finish()};
}

NormGradients head_norm_gradients(const HeadNorm& norm, int64_t num_heads, int64_t rows_of_head, int64_t head_size,
                                  const std::vector<double>& heads, const std::vector<double>& of_output) {
  const bool is_shared = static_cast<int64_t>(norm.weight.size()) == head_size;
  Bounded of_heads(heads.size());
  BoundedSums weights(static_cast<int64_t>(norm.weight.size()));
  for (int64_t row = 0; row * head_size < static_cast<int64_t>(heads.size()); ++row) {
    const int64_t first = row * head_size;
    if (is_zero_row(of_output.data() + first, head_size)) continue;
    const int64_t of_weight = is_shared ? 0 : row / rows_of_head % num_heads * head_size;
    const ConstElements weight(norm.weight.data() + of_weight, head_size);
    const ConstElements of_row(of_output.data() + first, head_size);
    const NormalizedRow head =
        normalized_head(ConstElements(heads.data() + first, head_size), norm.epsilon, norm.subtracts_mean);
    const RowOfNorm gradients(head, weight, of_row, norm.subtracts_mean);
    gradients.write_input_gradient(first, of_heads);
    gradients.add_to(of_weight, weights);
  }
  return {of_heads, weights.finish(), Bounded()};
}

}  // namespace heed::reference
