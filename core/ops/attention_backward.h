// SPDX-License-Identifier: Apache-2.0
// The gradients of an attention: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/attention.h"
#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// With the terms of docs/semantics.md, P the weights before dropout, m = kept / (1 - dropout), A = m P, dO the gradient of the
// output O, and for each row D = sum over d of dO O:
//   dP = sum over d of dO V,  dZ = P (m dP - D),  dS = dZ times the derivative of the soft cap
//   values: sum over queries of A dO;  queries: scale * sum over keys of dS k;  keys: scale * sum over queries of dS q
//   bias: dZ;  alibi_slopes: -dZ distance;  relative_bias: dZ, by bucket;  sinks: -P_sink D
//   with additive scoring dS takes part in queries and keys times w (1 - tanh^2), and in score_weights times tanh.
// A pair that is hidden takes part in nothing, not even as 0 times a number. A row without a visible key has no gradient, but
// with EmptyRows::Mean its share of the values. A row whose output gradient is all 0 adds nothing, whatever it holds.
struct AttentionBackwardProblem {
  Op op = {OpKind{18}, sizeof(AttentionBackwardProblem)};
  // The attention, without a cache, with output and log_sum_exp as it has written them; they are read. Its `weights` are not.
  // queries, keys, values, output and log_sum_exp are F32.
  AttentionProblem forward;
  Operand output_gradient;  // axes (b, h, q, d); F32

  // F32; each optional; written. Axes as queries, keys and values. Rows beyond an element's queries or keys, unless the batch
  // is packed, and rows of keys that no query sees, become 0.
  Operand queries_gradient;
  Operand keys_gradient;
  Operand values_gradient;

  // F32; each optional. Their sums begin with what the array holds if `accumulates` has their bit, otherwise with 0. The batch
  // elements are added one after another, so that the sum over several calls is that of one call with all their elements.
  Operand bias_gradient;           // axes (b, h, q, k); summed over the axes of stride 0
  Operand alibi_slopes_gradient;   // axes (-, h, -, -)
  Operand relative_bias_gradient;  // axes (-, h, -, bucket)
  Operand sinks_gradient;          // axes (-, h, -, -)
  Operand score_weights_gradient;  // axes (-, h, -, d)
  Operand bias_key_gradient;       // axes (-, kv head, -, d)
  Operand bias_value_gradient;     // axes (-, kv head, -, d)
  uint32_t accumulates = 0;        // bits of SummedGradient
  int32_t reserved = 0;
};

// The gradients that are sums over the batch, by their bits in AttentionBackwardProblem::accumulates.
enum class SummedGradient : uint32_t {
  Bias = 1,
  AlibiSlopes = 2,
  RelativeBias = 4,
  Sinks = 8,
  ScoreWeights = 16,
  BiasKey = 32,
  BiasValue = 64,
};

[[gnu::always_inline]] inline bool accumulates(const AttentionBackwardProblem& problem, SummedGradient gradient) {
  return (problem.accumulates & static_cast<uint32_t>(gradient)) != 0;
}

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, AttentionBackwardProblem>
void visit_operands(Problem& problem, Visit visit) {
  const int64_t b = problem.forward.batch;
  const int64_t h = problem.forward.num_heads;
  const int64_t g = problem.forward.num_kv_heads;
  const int64_t q = problem.forward.limits.num_queries;
  const int64_t query_rows = num_query_rows(problem.forward.limits, b);
  const int64_t key_rows = num_key_rows(problem.forward.limits, b);
  const Sizes<kOperandRank> queries = {b, h, query_rows, problem.forward.head_size};
  const Sizes<kOperandRank> keys = {b, g, key_rows, problem.forward.head_size};
  const Sizes<kOperandRank> values = {b, g, key_rows, problem.forward.value_head_size};
  const Sizes<kOperandRank> outputs = {b, h, query_rows, problem.forward.value_head_size};
  const Sizes<kOperandRank> pairs = {b, h, q, problem.forward.limits.num_keys};
  const Sizes<kOperandRank> heads = {1, h, 1, 1};
  const Sizes<kOperandRank> weights = {1, h, 1, problem.forward.head_size};
  const Sizes<kOperandRank> buckets = {1, h, 1, problem.forward.num_buckets};
  const Sizes<kOperandRank> bias_key = {1, g, 1, problem.forward.head_size};
  const Sizes<kOperandRank> bias_value = {1, g, 1, problem.forward.value_head_size};
  visit(problem.forward.queries, queries, Access::Read);
  visit(problem.forward.keys, keys, Access::Read);
  visit(problem.forward.values, values, Access::Read);
  visit(problem.forward.cached.rotations, keys, Access::Read);
  visit(problem.forward.score_weights, weights, Access::Read);
  visit(problem.forward.limits.valid_lens, Sizes<kOperandRank>{b, 1, q, 1}, Access::ReadOnHost);
  visit(problem.forward.limits.positions, Sizes<kOperandRank>{b, 1, query_rows, 1}, Access::ReadOnHost);
  visit(problem.forward.mask, pairs, Access::Read);
  visit(problem.forward.bias, pairs, Access::Read);
  visit(problem.forward.alibi_slopes, heads, Access::Read);
  visit(problem.forward.relative_bias, buckets, Access::Read);
  visit(problem.forward.sinks, heads, Access::Read);
  visit(problem.forward.bias_key, bias_key, Access::Read);
  visit(problem.forward.bias_value, bias_value, Access::Read);
  visit(problem.forward.output, outputs, Access::Read);
  visit(problem.forward.weights, pairs, Access::Read);
  visit(problem.forward.log_sum_exp, Sizes<kOperandRank>{b, h, query_rows, 1}, Access::Read);
  visit(problem.output_gradient, outputs, Access::Read);
  visit(problem.queries_gradient, queries, Access::Write);
  visit(problem.keys_gradient, keys, Access::Write);
  visit(problem.values_gradient, values, Access::Write);
  const auto access = [&problem](SummedGradient gradient) {
    return accumulates(problem, gradient) ? Access::Update : Access::Write;
  };
  visit(problem.bias_gradient, pairs, access(SummedGradient::Bias));
  visit(problem.alibi_slopes_gradient, heads, access(SummedGradient::AlibiSlopes));
  visit(problem.relative_bias_gradient, buckets, access(SummedGradient::RelativeBias));
  visit(problem.sinks_gradient, heads, access(SummedGradient::Sinks));
  visit(problem.score_weights_gradient, weights, access(SummedGradient::ScoreWeights));
  visit(problem.bias_key_gradient, bias_key, access(SummedGradient::BiasKey));
  visit(problem.bias_value_gradient, bias_value, access(SummedGradient::BiasValue));
}

// flops: 5/2 of the attention's, since backward has five products of each visible pair where forward has two.
inline Cost cost_of(const AttentionBackwardProblem& problem) {
  return {.flops = 2.5 * flops_of(problem.forward), .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
