// SPDX-License-Identifier: Apache-2.0
#include "ops/attention.h"

#include "ops/visible_keys.h"

namespace heed {

WantedRows values_read(const AttentionProblem& problem) {
  if (problem.empty_rows != EmptyRows::Mean) return WantedRows::Visible;
  // A mask or bias may hide all keys from a query, which only the kernel finds out.
  if (problem.mask.given != 0 || problem.bias.given != 0) return WantedRows::All;
  return WantedRows::VisibleOrMean;
}

double flops_of(const AttentionProblem& problem) {
  const double score_flops =
      (problem.scoring == Scoring::Additive ? 4.0 : 2.0) * static_cast<double>(problem.head_size);
  const double value_flops = problem.output.given != 0 ? 2.0 * static_cast<double>(problem.value_head_size) : 0.0;
  return static_cast<double>(problem.num_heads) * visible_pairs(problem.limits, problem.batch) *
         (score_flops + value_flops);
}

Cost cost_of(const AttentionProblem& problem) {
  Cost cost;
  cost.flops = flops_of(problem);
  cost.bytes = bytes_of_operands(problem);
  if (problem.cached.given != 0) {
    cost.bytes += num_keys_of_batch(problem.limits, problem.batch) * static_cast<double>(problem.num_kv_heads) *
                  static_cast<double>(problem.head_size + problem.value_head_size) *
                  static_cast<double>(size_of(problem.cached.dtype));
  }
  return cost;
}

}  // namespace heed
