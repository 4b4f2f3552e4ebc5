// SPDX-License-Identifier: Apache-2.0
// The largest difference from the f64 results of one row for an engine that rounds operands and intermediate results to
// a 16-bit format. Each rounding is listed in docs/semantics.md, section "The error bound on Ascend".
//
// The score of each key is in an interval, from which the intervals of the weights follow. So a large error in the
// score of a key with a weight near 0 hardly widens the intervals of the others.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "reference/error_bound.h"
#include "reference/number_format.h"

namespace heed::reference {

// The smallest normal number of f32: a smaller exponential may be flushed to 0.
inline constexpr double kSmallestNormalF32 = 0x1p-126;

// The largest error of a device's exponential or logarithm, in units of the unit round-off of f32: 4 are two units in
// the last place.
inline constexpr double kNarrowExpRoundoffs = 4.0;

// The fewest keys in a block of the fused operation: that is the number for heads of more than 192 elements.
inline constexpr int64_t kKeysPerNarrowBlock = 64;

// What the bound depends on for one visible key.
struct KeyMagnitudes {
  double score = 0.0;   // finite, or -infinity with a weight of 0
  double scaled = 0.0;  // before soft cap and bias
  double bias = 0.0;
  double terms = 0.0;      // S of this key
  double inherited = 0.0;  // the largest change of the score by inexact queries and keys
  double key = 0.0;        // sum of abs(k_d), plus its errors
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

// The intervals of the visible keys' weights, and the error of log_sum_exp.
struct NarrowWeights {
  Eigen::ArrayXd low;
  Eigen::ArrayXd high;
  double log_sum_exp_error = 0.0;
  bool is_known = true;  // false: the format may overflow in an intermediate result
};

// The weights of the fused operation, before its probabilities are rounded.
NarrowWeights fused_weights(const NarrowRowParameters& parameters, const std::vector<KeyMagnitudes>& keys);

// The weights that the output is computed from: after rounding of the probabilities, and with the errors of sums and
// division.
NarrowWeights with_rounded_probabilities(const NarrowRowParameters& parameters, const NarrowWeights& weights);

// The weights and log_sum_exp of the chain of operations that returns them.
NarrowWeights unfused_weights(const NarrowRowParameters& parameters, const std::vector<KeyMagnitudes>& keys);

}  // namespace heed::reference
