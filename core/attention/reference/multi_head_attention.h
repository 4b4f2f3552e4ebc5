// SPDX-License-Identifier: Apache-2.0
// Multi-head attention in f64: project, attend, join the heads, project.
#pragma once

#include <optional>

#include "attention/reference/attention.h"

namespace heed::reference {

// y = x W^T + b
struct Projection {
  int64_t input_size = 0;
  int64_t output_size = 0;
  std::vector<double> weight;  // (output size, input size)
  std::vector<double> bias;    // (output size), or empty
};

struct MultiHeadProblem {
  AttentionSizes sizes;
  AttentionOptions options;
  AttentionLimits limits;
  std::vector<double> queries;  // (B, Q, Eq)
  std::vector<double> keys;     // (B, K, Ek)
  std::vector<double> values;   // (B, K, Ev)
  Projection query_projection;  // to H * D
  Projection key_projection;    // to Hkv * D
  Projection value_projection;  // to Hkv * Dv
  std::optional<Projection> output_projection;
};

// (rows, input size) to (rows, output size)
Bounded project(const Projection& projection, const Bounded& input);

// The output is (B, Q, output size), without output projection (B, Q, H * Dv); the rest as attention gives it.
AttentionResult multi_head_attention(const MultiHeadProblem& problem);

}  // namespace heed::reference
