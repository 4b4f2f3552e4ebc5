// SPDX-License-Identifier: Apache-2.0
// Sums of products in f64, with the error of an f32 engine that adds the terms in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/attention.h"

namespace heed::reference {

// Elements of an array, each of them a sum.
class BoundedSums {
 public:
  explicit BoundedSums(int64_t size = 0);

  // A term that an engine computes with one rounding of `value`, from operands that change it by at most `error`.
  void add(int64_t element, double value, double error = 0.0);

  // A term of n goes through at most n roundings: that of its product, and n - 1 additions. A sum that is not finite is NaN with
  // an infinite error: an engine's is not finite either.
  Bounded finish() const;

 private:
  std::vector<double> values_;
  std::vector<double> errors_;
  std::vector<double> magnitudes_;
  std::vector<double> counts_;
};

// The sums of (outer, size) over the outer axis.
Bounded sums_of_rows(const std::vector<double>& rows, int64_t size);

// Whether an incoming gradient leaves its row out: then the row passes on 0, and adds nothing to any sum, whatever it holds.
bool is_zero_row(const double* of_row, int64_t size);

}  // namespace heed::reference
