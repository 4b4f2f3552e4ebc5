// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/attention.h"

#include <algorithm>

#include "backends/cpu/attention_arguments.h"
#include "backends/cpu/attention_choice.h"
#include "backends/cpu/decode_attention.h"
#include "backends/cpu/flash_attention.h"

namespace heed::cpu {

Plan plan_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers) {
  const bool is_decode = is_for_decode_attention(kernels, problem, problem.limits.num_queries, problem.limits.num_keys);
  AttentionChoice choice;
  Plan plan;
  plan.isa = kernels.isa;
  // Scratch is the maximum of both kernels, because a smaller problem may use the other kernel.
  plan.scratch_bytes = std::max(choose_flash_attention(kernels, problem, num_workers, choice),
                                choose_decode_attention(kernels, problem, num_workers, choice));
  if (is_decode)
    plan_decode_attention(kernels, problem, num_workers, choice, plan);
  else
    plan_flash_attention(kernels, problem, num_workers, choice, plan);
  choice.kernels = is_decode ? AttentionKernels::Decode : AttentionKernels::Flash;
  if (problem.limits.has_table != 0 && choice.decode_rows > 0) choice.kernels = AttentionKernels::Both;
  set_choice(plan, choice);
  add_attention_reasons(problem, plan);
  return plan;
}

void run_attention(const KernelTable& kernels, const AttentionProblem& problem, const Plan& plan,
                   const Workers& workers, void* scratch) {
  // Batch elements and heads without queries take no memory, so their number may exceed any counter.
  if (problem.limits.num_queries == 0) return;
  const auto& choice = choice_of<AttentionChoice>(plan);
  if (choice.kernels != AttentionKernels::Flash)
    run_decode_attention(kernels, problem, choice, plan.num_threads, workers, scratch);
  if (choice.kernels != AttentionKernels::Decode)
    run_flash_attention(kernels, problem, choice, plan.num_threads, workers, scratch);
}

}  // namespace heed::cpu
