// SPDX-License-Identifier: Apache-2.0
// How far an engine may be from the f64 answer of one row that rounds operands and intermediates to a 16-bit format.
// Each rounding is listed in docs/semantics.md, section "The error bound on Ascend".
//
// Scores are known within intervals, key by key, and from these the weights are: a key whose weight is next to nothing
// may have a score that is far off.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "reference/error_bound.h"
#include "reference/number_format.h"

namespace heed::reference {

// The smallest normal number of f32: below it an exponential may be 0.
inline constexpr double kSmallestNormalF32 = 0x1p-126;

// By how many units of round-off of f32 a device's exponential or logarithm may be off: two in the last place.
inline constexpr double kNarrowExpRoundoffs = 4.0;

// Keys of a block of the fused operation, at least: so many where heads have more than 192 elements.
inline constexpr int64_t kKeysPerNarrowBlock = 64;

// What the bound needs to know of one key that the row sees.
struct KeyMagnitudes {
  double score = 0.0;   // -infinity, of weight 0, or finite
  double scaled = 0.0;  // before soft cap and bias
  double bias = 0.0;
  double terms = 0.0;      // S of this key alone
  double inherited = 0.0;  // how far inexact queries and keys move the score
  double key = 0.0;        // sum of abs(k_d), errors included
  double underflow = 0.0;  // as in RowMagnitudes
};

struct NarrowRowParameters {
  Format format = Format::BF16;
  BoundConstants constants;
  int64_t num_keys = 0;
  double scale = 0.0;
  double soft_cap = 0.0;
  bool has_bias = false;
};

// What the weights of the visible keys are between, and how far log_sum_exp may be off.
struct NarrowWeights {
  Eigen::ArrayXd low;
  Eigen::ArrayXd high;
  double log_sum_exp_error = 0.0;
  bool is_known = true;  // false: the format may overflow on the way
};

// Of the fused operation, before the probabilities are rounded.
NarrowWeights fused_weights(const NarrowRowParameters& parameters, const std::vector<KeyMagnitudes>& keys);

// The same as the output has them: with the probabilities' rounding, sums and division.
NarrowWeights with_rounded_probabilities(const NarrowRowParameters& parameters, const NarrowWeights& weights);

// Of the chain of operations that makes the weights and log_sum_exp that are returned.
NarrowWeights unfused_weights(const NarrowRowParameters& parameters, const std::vector<KeyMagnitudes>& keys);

}  // namespace heed::reference
