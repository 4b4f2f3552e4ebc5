// SPDX-License-Identifier: Apache-2.0
// The operations on tensors in f64, a number or a row at a time, with how far an f32 engine may be from them before it rounds to the
// result's format. Bounds are derived in docs/semantics.md, section "Operations".
#pragma once

#include <optional>
#include <vector>

#include "reference/attention.h"

namespace heed::reference {

struct BoundedNumber {
  double value = 0.0;
  double error = 0.0;  // infinite: no bound is stated
};

// The sum over i of a[i] * b[i], of an engine that rounds operands and sum to the format, if one is given.
BoundedNumber sum_of_products(const std::vector<double>& a, const std::vector<double>& b,
                              std::optional<Format> compute_format = std::nullopt);

// The softmax of the first `length` scores; weights from there on are 0. In f32, also of an engine that rounds others.
Bounded softmax(const std::vector<double>& scores, size_t length, std::optional<Format> compute_format = std::nullopt);

}  // namespace heed::reference
