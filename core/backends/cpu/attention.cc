// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/attention.h"

#include <algorithm>

#include "backends/cpu/decode_attention.h"
#include "backends/cpu/flash_attention.h"

namespace heed::cpu {

Plan plan_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers) {
  Plan plan = is_for_decode_attention(kernels, problem) ? plan_decode_attention(kernels, problem, num_workers)
                                                        : plan_flash_attention(kernels, problem, num_workers);
  // That of both, because a smaller problem may go to the other kernel.
  plan.scratch_bytes = std::max(decode_attention_bytes(kernels, problem, num_workers),
                                flash_attention_bytes(kernels, problem, num_workers));
  return plan;
}

void run_attention(const KernelTable& kernels, const AttentionProblem& problem, const Workers& workers, void* scratch) {
  // Items and heads without queries need no memory, so there may be more of them than anyone can count to.
  if (problem.num_queries == 0) return;
  if (is_for_decode_attention(kernels, problem))
    run_decode_attention(kernels, problem, workers, scratch);
  else
    run_flash_attention(kernels, problem, workers, scratch);
}

}  // namespace heed::cpu
