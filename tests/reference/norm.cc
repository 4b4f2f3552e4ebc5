// SPDX-License-Identifier: Apache-2.0
#include "reference/norm.h"

#include <Eigen/Core>
#include <cmath>
#include <cstdint>

#include "reference/error_bound.h"
#include "reference/head_norm.h"

namespace heed::reference {
namespace {

// As the norm of one head, and one more rounding where a bias is added.
Bounded normalize_in_format(const Norm& norm, const std::vector<double>& rows, Format format) {
  Bounded result = as_read(rows, format);
  const auto size = static_cast<int64_t>(norm.weight.size());
  const HeadNorm of_row = {norm.weight, norm.epsilon, norm.subtracts_mean};
  normalize_heads(of_row, 1, static_cast<int64_t>(rows.size()) / size, size, format, result);
  if (norm.bias.empty()) return result;
  const Bounded bias = as_read(norm.bias, format);
  for (size_t i = 0; i < result.values.size(); ++i) {
    const size_t d = i % norm.bias.size();
    result.values[i] += bias.values[d];
    result.errors[i] = error_after_rounding(format, result.values[i], result.errors[i] + bias.errors[d]);
  }
  return result;
}

}  // namespace

Bounded normalize(const Norm& norm, const std::vector<double>& rows) {
  if (norm.compute_format) return normalize_in_format(norm, rows, *norm.compute_format);
  using Vector = Eigen::ArrayXd;
  const auto size = static_cast<int64_t>(norm.weight.size());
  const auto d = static_cast<double>(size);
  const Eigen::Map<const Vector> weight(norm.weight.data(), size);
  const Vector bias = norm.bias.empty() ? Vector::Zero(size) : Vector(Eigen::Map<const Vector>(norm.bias.data(), size));
  Bounded result(rows.size());
  for (size_t first = 0; first < rows.size(); first += norm.weight.size()) {
    const Eigen::Map<const Vector> x(rows.data() + first, size);
    const Vector difference = norm.subtracts_mean ? Vector(x - x.mean()) : Vector(x);
    const double root = std::sqrt(difference.square().mean() + norm.epsilon);
    const Vector y = difference / root * weight + bias;
    // The bound of docs/semantics.md, rule 18.
    const Vector error = (d + 8) * kUnitRoundoff * ((difference / root).abs() + 1) * weight.abs() +
                         2 * kUnitRoundoff * (bias.abs() + y.abs()) +
                         d * kUnitRoundoff * kUnitRoundoff * x.abs().maxCoeff() / root * weight.abs() +
                         2 * underflow_error() * (1 + weight.abs() / root);
    Eigen::Map<Vector>(result.values.data() + first, size) = y;
    Eigen::Map<Vector>(result.errors.data() + first, size) = error;
  }
  return result;
}

}  // namespace heed::reference
