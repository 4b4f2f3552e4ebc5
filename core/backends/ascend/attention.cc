// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/ascend/arrange.h"
#include "backends/ascend/fused_output.h"
#include "backends/ascend/known_features.h"
#include "backends/ascend/operations.h"
#include "backends/ascend/score_chain.h"
#include "backends/ascend/visibility.h"
#include "backends/ascend/zeros.h"

namespace heed::ascend {
namespace {

// Limit for the bytes of a mask on the device, of the table on the host that it is made from, and of the scores of one
// batch element. Above it the CPU is the better choice.
constexpr double kMaxBytes = 4e9;

double score_bytes(const AttentionProblem& problem) {
  return 4.0 * static_cast<double>(problem.num_heads) * static_cast<double>(problem.limits.num_queries) *
         static_cast<double>(problem.limits.num_keys);
}

bool has_no_elements(const AttentionProblem& problem) {
  return problem.batch == 0 || problem.limits.num_queries == 0 || problem.limits.num_keys == 0;
}

bool fits_int32(double number) { return number <= static_cast<double>(std::numeric_limits<int32_t>::max()); }

bool has_pairs_in_reach(const AttentionProblem& problem) {
  const int64_t pairs[kOperandRank] = {problem.batch, problem.num_heads, problem.limits.num_queries,
                                       problem.limits.num_keys};
  for (const Operand* operand : {&problem.mask, &problem.bias, &problem.weights}) {
    if (!can_arrange(*operand, pairs)) return false;
  }
  return true;
}

bool is_in_reach(const AttentionProblem& problem) {
  const int64_t b = problem.batch;
  const int64_t h = problem.num_heads;
  const int64_t g = problem.num_kv_heads;
  const int64_t q = problem.limits.num_queries;
  const int64_t k = problem.limits.num_keys;
  const auto can = [](const Operand& operand, const int64_t(&sizes)[kOperandRank]) {
    return operand.given == 0 || can_arrange(with_heads_inside(strided(operand, sizes)));
  };
  return can(problem.queries, {b, h, q, problem.head_size}) && can(problem.keys, {b, g, k, problem.head_size}) &&
         can(problem.values, {b, g, k, problem.value_head_size}) &&
         can(problem.output, {b, h, q, problem.value_head_size}) && can(problem.log_sum_exp, {b, h, q, 1}) &&
         has_pairs_in_reach(problem) && fits_int32(static_cast<double>(b) * static_cast<double>(std::max(q, k)));
}

// There are no queries, or no keys: the output is 0 and log_sum_exp is -infinity.
void write_empty(Npu& npu, const AttentionProblem& problem, aclDataType dtype) {
  const int64_t b = problem.batch;
  const int64_t h = problem.num_heads;
  const int64_t q = problem.limits.num_queries;
  if (problem.output.given != 0 && problem.value_head_size > 0 && b * q > 0) {
    const Target target(npu, strided(problem.output, {b, h, q, problem.value_head_size}), dtype);
    write_zeros(npu, target.array().data, target.array().num_bytes());
    target.store();
  }
  if (problem.log_sum_exp.given != 0 && b * q > 0) {
    const Target target(npu, strided(problem.log_sum_exp, {b, h, q, 1}), ACL_FLOAT);
    const std::vector<float> sums(static_cast<size_t>(b * h * q), -HUGE_VALF);
    npu.upload(target.array().data, sums.data(), target.array().num_bytes());
    target.store();
  }
}

}  // namespace

Plan plan_attention(const AttentionProblem& problem) {
  Plan plan;
  const bool has_unfused = problem.weights.given != 0 || problem.log_sum_exp.given != 0;
  plan.kernel = problem.output.given == 0 ? "ATB Linear and Softmax"
                : has_unfused             ? "ATB SelfAttention; Linear and Softmax for weights and log_sum_exp"
                                          : "ATB SelfAttention";
  add_unknown_features(plan, problem);
  if (problem.scale != 0 && std::fabs(problem.scale) < kMinFactor) plan.add_reason(kTooSmallScale);
  if (problem.output.given != 0 && std::max(problem.head_size, problem.value_head_size) > kMaxHeadSize)
    plan.add_reason(
        "ATB's kernels for heads above 256 elements are not right in all of its releases, expected heads of at most "
        "256");
  if (!has_no_elements(problem)) {
    if (std::max(fused_mask_bytes(problem), masked_pairs(problem)) > kMaxBytes)
      plan.add_reason(
          "the mask, or what it is made from, would take more than 4 GB, expected fewer pairs, or a causal mask of "
          "equal lengths");
    if (has_unfused && score_bytes(problem) > kMaxBytes) {
      plan.add_reason(
          "the scores behind weights and log-sum-exp would take more than 4 GB for one batch element, expected "
          "fewer pairs, or the output alone");
    }
    if (!is_in_reach(problem)) plan.add_reason(kOutOfReach);
  }
  return plan;
}

void run_attention(Npu& npu, const AttentionProblem& problem, aclDataType dtype) {
  if (has_no_elements(problem)) {
    write_empty(npu, problem, dtype);
    return;
  }
  const Visibility visibility(npu, problem);
  if (problem.output.given != 0 && problem.value_head_size > 0) run_fused_output(npu, problem, visibility, dtype);
  if (problem.weights.given != 0 || problem.log_sum_exp.given != 0) run_score_chain(npu, problem, visibility, dtype);
}

}  // namespace heed::ascend
