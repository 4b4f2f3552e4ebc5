// SPDX-License-Identifier: Apache-2.0
#include "reference/norm.h"

#include <Eigen/Core>
#include <cmath>
#include <cstdint>

#include "reference/error_bound.h"

namespace heed::reference {

Bounded normalize(const Norm& norm, const std::vector<double>& rows) {
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
                         2 * kSmallestF32;
    Eigen::Map<Vector>(result.values.data() + first, size) = y;
    Eigen::Map<Vector>(result.errors.data() + first, size) = error;
  }
  return result;
}

}  // namespace heed::reference
