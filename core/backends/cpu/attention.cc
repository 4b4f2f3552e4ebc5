// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/attention.h"

#include "backends/cpu/flash_attention.h"

namespace heed::cpu {

Plan plan_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers) {
  return plan_flash_attention(kernels, problem, num_workers);
}

void run_attention(const KernelTable& kernels, const AttentionProblem& problem, const Workers& workers, void* scratch) {
  // Items and heads without queries need no memory, so there may be more of them than anyone can count to.
  if (problem.num_queries == 0) return;
  run_flash_attention(kernels, problem, workers, scratch);
}

}  // namespace heed::cpu
