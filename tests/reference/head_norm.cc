// SPDX-License-Identifier: Apache-2.0
#include "reference/head_norm.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "reference/error_bound.h"

namespace heed::reference {
namespace {

using Row = Eigen::Map<Eigen::ArrayXd>;
using Vector = Eigen::ArrayXd;

// Each step is derived in docs/semantics.md, section "Norms and rotations".
class RowNorm {
 public:
  RowNorm(Row x, Row error) : x_(x), error_(error), size_(static_cast<double>(x.size())) {}

  void subtract_mean() {
    const double roundings = kSecondOrder * kUnitRoundoff * size_;
    const double of_mean = error_.mean() + roundings * (x_.abs() + error_).mean() + underflow_error();
    const double mean = x_.mean();
    x_ -= mean;
    error_ += of_mean;
    error_ += kUnitRoundoff * (x_.abs() + error_);
  }

  void normalize(double epsilon, const Vector& weight, const Vector& weight_error) {
    const double largest = ((x_.abs() + error_).square()).sum();
    const double root = std::sqrt(x_.square().mean() + epsilon);
    // Errors of the elements move the root by at most their root mean square.
    const double moved = std::sqrt(error_.square().mean());
    const double least = std::max(root - moved, std::sqrt(epsilon));
    const Vector of_elements = (error_ + x_.abs() * (moved / root)) / least;
    const double underflow = underflow_error() / (least * least);
    const double roundings = kSecondOrder * (kUnitRoundoff * (size_ / 2.0 + 5.0) + underflow);
    const Vector y = x_ / root;
    const Vector size = y.abs() + of_elements;
    const Vector inherited = of_elements * weight.abs() + size * weight_error;
    error_ = inherited + roundings * size * (weight.abs() + weight_error) + (1.0 + weight.abs()) * underflow_error();
    x_ = y * weight;
    if (!(largest <= kLargestCovered)) set_unknown();
  }

  void round(Format format) {
    for (int64_t d = 0; d < x_.size(); ++d) error_[d] = error_after_rounding(format, x_[d], error_[d]);
  }

 private:
  // NaN stays NaN, since every element of the row depends on all.
  void set_unknown() {
    if (x_.isNaN().all()) {
      error_.setZero();
      return;
    }
    x_.setZero();
    error_.setConstant(kInfinity);
  }

  Row x_;
  Row error_;
  double size_;
};

}  // namespace

void normalize_heads(const HeadNorm& norm, int64_t num_heads, int64_t rows_of_head, int64_t head_size,
                     std::optional<Format> compute_format, Bounded& heads) {
  const Bounded weights = as_read(norm.weight, compute_format);
  const bool is_shared = static_cast<int64_t>(norm.weight.size()) == head_size;
  const int64_t rows = static_cast<int64_t>(heads.values.size()) / head_size;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t head = is_shared ? 0 : row / rows_of_head % num_heads;
    RowNorm of_row(Row(heads.values.data() + row * head_size, head_size),
                   Row(heads.errors.data() + row * head_size, head_size));
    if (norm.subtracts_mean) of_row.subtract_mean();
    of_row.normalize(norm.epsilon, Eigen::Map<const Vector>(weights.values.data() + head * head_size, head_size),
                     Eigen::Map<const Vector>(weights.errors.data() + head * head_size, head_size));
    if (compute_format) of_row.round(*compute_format);
  }
}

}  // namespace heed::reference
