// SPDX-License-Identifier: Apache-2.0
// The softmax of the last axis of scores, with valid lengths: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// weights[b, h, q, k] = exp(scores[b, h, q, k]) / sum over visible k' of exp(scores[b, h, q, k']), with the row's
// maximum subtracted from the scores, in f32, or in f64 where both are F64. The order of the sum depends on the row's length alone.
// Key k is visible to row (b, q) iff k is less than its length; hidden weights are 0, and hidden scores are not read.
struct SoftmaxProblem {
  Op op = {OpKind{2}, sizeof(SoftmaxProblem)};
  int64_t batch = 0;        // b
  int64_t num_heads = 0;    // h
  int64_t num_queries = 0;  // q
  int64_t num_keys = 0;     // k
  Operand scores;           // axes (b, h, q, k); F32, F16, BF16; F64 without valid_lens
  Operand valid_lens;       // axes (b, -, q, -); F32, I32, I64; whole numbers from 0 to num_keys; optional
  Operand weights;  // axes (b, h, q, k); F32, F16, BF16; F64 if the scores are; shares no memory with the others
  int32_t is_logarithm = 0;  // 1: the weights' logarithms, score - maximum - log(sum); without valid_lens
  int32_t unused = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, SoftmaxProblem>
void visit_operands(Problem& problem, Visit visit) {
  const Sizes<kOperandRank> pairs = {problem.batch, problem.num_heads, problem.num_queries, problem.num_keys};
  visit(problem.scores, pairs, Access::Read);
  visit(problem.valid_lens, Sizes<kOperandRank>{problem.batch, 1, problem.num_queries, 1}, Access::ReadOnHost);
  visit(problem.weights, pairs, Access::Write);
}

// flops: for each score, visible or hidden, a subtraction, an exponential, a division, and an addition for the sum.
inline Cost cost_of(const SoftmaxProblem& problem) {
  const double num_scores = static_cast<double>(problem.batch) * static_cast<double>(problem.num_heads) *
                            static_cast<double>(problem.num_queries) * static_cast<double>(problem.num_keys);
  return {.flops = 4 * num_scores, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
