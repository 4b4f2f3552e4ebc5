// SPDX-License-Identifier: Apache-2.0
// Norms over the last axis in f64, with the error of an engine that reads exact rows.
#pragma once

#include <optional>
#include <vector>

#include "reference/attention.h"

namespace heed::reference {

struct Norm {
  std::vector<double> weight;
  std::vector<double> bias;  // as long as the weight, or empty
  double epsilon = 0;
  bool subtracts_mean = false;
  // To which the engine rounds operands and results; none: it computes in f32 and rounds nothing.
  std::optional<Format> compute_format = std::nullopt;
};

// Normalizes rows of weight.size() elements, which lie one after another.
Bounded normalize(const Norm& norm, const std::vector<double>& rows);

}  // namespace heed::reference
