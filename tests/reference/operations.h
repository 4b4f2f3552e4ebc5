// SPDX-License-Identifier: Apache-2.0
// The operations on tensors in f64, for one number or one row, with the largest difference of an f32 engine's result
// before it is rounded to the result's format. Bounds are derived in docs/semantics.md, section "Operations".
#pragma once

#include <optional>
#include <vector>

#include "reference/attention.h"

namespace heed::reference {

struct BoundedNumber {
  double value = 0.0;
  double error = 0.0;  // infinite: no bound is stated
};

// The sum over i of a[i] * b[i]. `compute_format`: the engine rounds operands and the sum to it.
BoundedNumber sum_of_products(const std::vector<double>& a, const std::vector<double>& b,
                              std::optional<Format> compute_format = std::nullopt);

// The softmax of the first `length` scores; the other weights are 0. It is computed in f32, also by an engine with a
// compute format.
Bounded softmax(const std::vector<double>& scores, size_t length, std::optional<Format> compute_format = std::nullopt);

}  // namespace heed::reference
