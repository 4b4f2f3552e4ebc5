// SPDX-License-Identifier: Apache-2.0
// Multi-head attention in f64: project, attend, join the heads, project. The additive layer is the same with one head,
// additive scoring, and no projections of values and output. Of the general score's layer only the keys are projected.
#pragma once

#include <optional>

#include "reference/attention.h"
#include "reference/head_norm.h"
#include "reference/rotary.h"

namespace heed::reference {

// y = x W^T + b
struct Projection {
  int64_t input_size = 0;
  int64_t output_size = 0;
  std::vector<double> weight;  // (output size, input size)
  std::vector<double> bias;    // (output size), or empty
};

struct MultiHeadProblem {
  std::optional<Format> compute_format;  // as in AttentionProblem
  AttentionSizes sizes;
  AttentionOptions options;
  AttentionLimits limits;
  std::vector<double> queries;                 // (B, Q, Eq)
  std::vector<double> keys;                    // (B, K, Ek)
  std::vector<double> values;                  // (B, K, Ev)
  std::optional<Projection> query_projection;  // to H * D; without it the queries are not projected
  Projection key_projection;                   // to Hkv * D
  std::optional<Projection> value_projection;  // to Hkv * Dv; without it the values are not projected
  std::optional<Projection> output_projection;
  std::vector<double> score_weights;  // (H, D), with additive scoring
  // A key that every row sees and its value, (Hkv, D) and (Hkv, Dv), after norm and rotation; empty: none. Then one of
  // zeros.
  std::vector<double> bias_key;
  std::vector<double> bias_value;
  bool has_zero_key = false;
  // Of the projected heads, before attention reads them: first the norm, then the rotation.
  std::optional<HeadNorm> query_norm;
  std::optional<HeadNorm> key_norm;
  std::optional<RotaryOptions> rotary;
};

// (rows, input size) to (rows, output size)
Bounded project(const Projection& projection, const Bounded& input, int64_t rows,
                std::optional<Format> compute_format = std::nullopt);

// (outer, a, b, size) as (outer, b, a, size): rows (B, S, H * D) as heads (B, H, S, D), and back.
Bounded swap_middle(const Bounded& array, int64_t outer, int64_t a, int64_t b, int64_t size);

// What its heads attend to: projected, normalized and rotated, with the constant keys.
AttentionProblem attention_of(const MultiHeadProblem& problem);

// The output is (B, Q, output size), or (B, Q, H * Dv) without output projection; the other results are those of
// attention().
AttentionResult multi_head_attention(const MultiHeadProblem& problem);

}  // namespace heed::reference
