// SPDX-License-Identifier: Apache-2.0
#include "reference/visibility.h"

#include <limits>

#include "reference/positions.h"

namespace heed::reference {
namespace {

// The key position that query q is aligned with: a causal mask shows the keys up to it, and a window is centred on it.
int64_t diagonal(Alignment alignment, const AttentionProblem& problem, int64_t b, int64_t q) {
  const bool is_index = alignment == Alignment::TopLeft && problem.limits.positions.empty();
  return is_index ? q : query_position(problem.sizes, problem.limits, b, q);
}

bool is_later(const AttentionProblem& problem, int64_t b, int64_t q, int64_t k) {
  // In self-attention, where both alignments are one.
  if (problem.limits.compares_rows) return k > q;
  return key_position(problem.sizes, problem.limits, b, k) > diagonal(problem.options.causal, problem, b, q);
}

}  // namespace

bool is_visible(const AttentionProblem& problem, int64_t b, int64_t h, int64_t q, int64_t k) {
  const AttentionSizes& sizes = problem.sizes;
  const AttentionOptions& options = problem.options;
  const AttentionLimits& limits = problem.limits;
  const auto row = static_cast<size_t>(b * sizes.num_queries + q);
  const auto pair = static_cast<size_t>(((b * sizes.num_heads + h) * sizes.num_queries + q) * sizes.num_keys + k);

  if (q >= num_queries(sizes, limits, b) || k >= num_keys(sizes, limits, b)) return false;
  if (!limits.lengths.empty() && !(static_cast<double>(k) < limits.lengths[row])) return false;
  if (!limits.mask.empty() && limits.mask[pair] == 0) return false;
  if (!limits.bias.empty() && limits.bias[pair] == -std::numeric_limits<double>::infinity()) return false;
  if (options.causal != Alignment::None && is_later(problem, b, q, k)) return false;
  if (options.window != Alignment::None) {
    const int64_t distance = key_position(sizes, limits, b, k) - diagonal(options.window, problem, b, q);
    if (options.window_left >= 0 && distance < -options.window_left) return false;
    if (options.window_right >= 0 && distance > options.window_right) return false;
  }
  return true;
}

}  // namespace heed::reference
