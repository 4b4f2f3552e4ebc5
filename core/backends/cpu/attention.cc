// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "backends/cpu/attention_arguments.h"
#include "backends/cpu/attention_choice.h"
#include "backends/cpu/cached_attention.h"
#include "backends/cpu/decode_attention.h"
#include "backends/cpu/flash_attention.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/width.h"
#include "backends/cpu/zero_rows.h"
#include "ops/sequence.h"
#include "ops/visible_keys.h"

namespace heed::cpu {

namespace {

// The kernels that the batch elements need. The sizes of a batch element and its valid lengths alone select its kernel, so
// that its result does not change bitwise with the rest of the batch, nor with keys that its lengths hide.
AttentionKernels kernels_for(const KernelTable& kernels, const AttentionProblem& problem) {
  const KeyLimits& limits = problem.limits;
  const int64_t num_different = differ_by_element(limits) ? problem.batch : std::min<int64_t>(problem.batch, 1);
  bool any_decode = false;
  bool any_flash = false;
  for (int64_t b = 0; b < num_different; ++b) {
    const bool is_decode =
        is_for_decode_attention(kernels, problem, sequence_of(limits, b).query_count, longest_length(limits, b));
    any_decode |= is_decode;
    any_flash |= !is_decode;
  }
  if (any_decode && any_flash) return AttentionKernels::Both;
  return any_decode ? AttentionKernels::Decode : AttentionKernels::Flash;
}

// Writes the results of rows beyond the queries of a batch element, and the weights of its rows beyond its keys. In a
// packed batch only weights have such rows.
void empty_rows_beyond_queries(const AttentionProblem& problem) {
  const bool has_output = problem.is_packed == 0 && problem.output.given != 0;
  const bool has_log_sum_exp = problem.is_packed == 0 && problem.log_sum_exp.given != 0;
  const bool has_weights = problem.weights.given != 0;
  if (!has_output && !has_log_sum_exp && !has_weights) return;
  for (int64_t b = 0; b < problem.batch; ++b) {
    const Sequence& sequence = sequence_of(problem.limits, b);
    const KeyRange beyond = {sequence.query_count, problem.limits.num_queries};
    for (int64_t h = 0; h < problem.num_heads; ++h) {
      if (has_output) zero_rows(problem.output, {b, h, 0, 0}, beyond, problem.value_head_size);
      if (has_log_sum_exp) {
        for (int64_t q = beyond.first; q < beyond.end; ++q) {
          static_cast<float*>(problem.log_sum_exp.data)[index_in(problem.log_sum_exp, {b, h, q, 0})] =
              -std::numeric_limits<float>::infinity();
        }
      }
      if (!has_weights) continue;
      zero_rows(problem.weights, {b, h, 0, 0}, beyond, problem.limits.num_keys + num_constant_keys(problem));
      for (int64_t q = 0; q < sequence.query_count; ++q) {
        zero_elements(problem.weights, {b, h, q, sequence.key_count}, problem.limits.num_keys - sequence.key_count);
      }
    }
  }
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers) {
  require_width("the head size", problem.head_size);
  require_width("the head size of the values", problem.value_head_size);
  if (problem.cached.given != 0) {
    Plan plan = plan_cached_attention(kernels, problem, num_workers);
    add_attention_reasons(problem, plan);
    return plan;
  }
  AttentionChoice choice;
  Plan plan;
  plan.isa = kernels.isa;
  // Scratch is the maximum of both kernels, because a smaller problem may use the other kernel.
  plan.scratch_bytes = std::max(choose_flash_attention(kernels, problem, num_workers, choice),
                                choose_decode_attention(kernels, problem, num_workers, choice));
  choice.kernels = kernels_for(kernels, problem);
  const bool is_by_size = choice.kernels == AttentionKernels::Both || problem.batch == 0;
  // The plan states one kernel: if batch elements need both, that for the largest of them.
  const bool is_decode =
      is_by_size ? is_for_decode_attention(kernels, problem, problem.limits.num_queries, problem.limits.num_keys)
                 : choice.kernels == AttentionKernels::Decode;
  if (is_decode)
    plan_decode_attention(kernels, problem, num_workers, choice, plan);
  else
    plan_flash_attention(kernels, problem, num_workers, choice, plan);
  set_choice(plan, choice);
  add_attention_reasons(problem, plan);
  return plan;
}

void run_problem(const KernelTable& kernels, const AttentionProblem& problem, const Plan& plan, const Workers& workers,
                 void* scratch) {
  // Batch elements and heads without queries take no memory, so their number may exceed any counter.
  if (problem.limits.num_queries == 0) return;
  if (problem.cached.given != 0) {
    run_cached_attention(kernels, problem, plan, workers, scratch);
    empty_rows_beyond_queries(problem);
    return;
  }
  const auto& choice = choice_of<AttentionChoice>(plan);
  if (choice.kernels != AttentionKernels::Flash)
    run_decode_attention(kernels, problem, choice, plan.num_threads, workers, scratch);
  if (choice.kernels != AttentionKernels::Decode)
    run_flash_attention(kernels, problem, choice, plan.num_threads, workers, scratch);
  if (problem.limits.has_table != 0) empty_rows_beyond_queries(problem);
}

}  // namespace heed::cpu
