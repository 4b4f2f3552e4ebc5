// SPDX-License-Identifier: Apache-2.0
#include "reference/bounded_sum.h"

#include <algorithm>
#include <cmath>

#include "reference/error_bound.h"

namespace heed::reference {

BoundedSums::BoundedSums(int64_t size)
    : values_(static_cast<size_t>(size)),
      errors_(values_.size()),
      magnitudes_(values_.size()),
      counts_(values_.size()) {}

void BoundedSums::add(int64_t element, double value, double error) {
  const auto i = static_cast<size_t>(element);
  values_[i] += value;
  errors_[i] += error;
  magnitudes_[i] += std::fabs(value) + error;
  ++counts_[i];
}

Bounded BoundedSums::finish() const {
  Bounded result(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    result.values[i] = std::isfinite(values_[i]) ? values_[i] : kNaN;
    const bool is_known = std::isfinite(values_[i]) && magnitudes_[i] <= kLargestCovered;
    const double roundings = kSecondOrder * kUnitRoundoff * counts_[i];
    result.errors[i] = is_known ? errors_[i] + roundings * magnitudes_[i] + counts_[i] * underflow_error() : kInfinity;
  }
  return result;
}

Bounded sums_of_rows(const std::vector<double>& rows, int64_t size) {
  BoundedSums sums(size);
  const auto count = static_cast<int64_t>(rows.size());
  for (int64_t first = 0; first < count; first += size) {
    if (is_zero_row(rows.data() + first, size)) continue;
    for (int64_t i = 0; i < size; ++i) sums.add(i, rows[static_cast<size_t>(first + i)]);
  }
  return sums.finish();
}

bool is_zero_row(const double* of_row, int64_t size) {
  return std::all_of(of_row, of_row + size, [](double element) { return element == 0.0; });
}

}  // namespace heed::reference
