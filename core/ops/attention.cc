// SPDX-License-Identifier: Apache-2.0
#include "ops/attention.h"

#include <algorithm>

#include "ops/visible_keys.h"

namespace heed {
namespace {

// Of a ring no query sees more rows than it keeps for it.
double pairs_of(const AttentionProblem& problem) {
  const double pairs = visible_pairs(problem.limits, problem.batch);
  const CachedKeys& cached = problem.cached;
  if (cached.visible_rows == 0) return pairs;
  const auto kept = static_cast<double>(cached.visible_rows + cached.sink_tiles * kCacheTileRows);
  return std::min(pairs, num_queries_of_batch(problem.limits, problem.batch) * kept);
}

// Of the caches of all batch elements.
double keys_read_of(const AttentionProblem& problem) {
  const double keys = num_keys_of_batch(problem.limits, problem.batch);
  if (problem.cached.visible_rows == 0) return keys;
  return std::min(keys, static_cast<double>(problem.batch) * static_cast<double>(problem.cached.max_rows));
}

}  // namespace

WantedRows values_read(const AttentionProblem& problem) {
  if (problem.empty_rows != EmptyRows::Mean) return WantedRows::Visible;
  // A mask, a bias or a window of given positions may hide all keys from a query, which only the kernel finds out.
  if (problem.mask.given != 0 || problem.bias.given != 0 || problem.cached.has_window != 0) return WantedRows::All;
  return WantedRows::VisibleOrMean;
}

double flops_of(const AttentionProblem& problem) {
  const double score_flops =
      (problem.scoring == Scoring::Additive ? 4.0 : 2.0) * static_cast<double>(problem.head_size);
  const double value_flops = problem.output.given != 0 ? 2.0 * static_cast<double>(problem.value_head_size) : 0.0;
  return static_cast<double>(problem.num_heads) * pairs_of(problem) * (score_flops + value_flops);
}

Cost cost_of(const AttentionProblem& problem) {
  Cost cost;
  cost.flops = flops_of(problem);
  cost.bytes = bytes_of_operands(problem);
  if (problem.cached.given != 0) {
    cost.bytes += keys_read_of(problem) * static_cast<double>(problem.num_kv_heads) *
                  static_cast<double>(problem.head_size + problem.value_head_size) *
                  static_cast<double>(size_of(problem.cached.dtype));
  }
  return cost;
}

}  // namespace heed
