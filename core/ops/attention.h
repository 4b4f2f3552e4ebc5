// SPDX-License-Identifier: Apache-2.0
// Attention of queries over keys and values: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cached_keys.h"
#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"
#include "ops/sequence.h"

namespace heed {

// The numbers of HEED_EMPTY_ROWS_ and HEED_SCORING_; capi/src asserts it.
enum class EmptyRows : int32_t { Zero = 0, Mean = 1 };
enum class Scoring : int32_t { DotProduct = 0, Additive = 1 };

// One attention. docs/semantics.md defines every member, rule by rule.
struct AttentionProblem {
  Op op = {OpKind{1}, sizeof(AttentionProblem)};
  int64_t batch = 0;            // b
  int64_t num_heads = 0;        // h, of queries
  int64_t num_kv_heads = 0;     // divides num_heads: head h reads key head h / (num_heads / num_kv_heads)
  int64_t head_size = 0;        // d, of queries and keys
  int64_t value_head_size = 0;  // d, of values

  // The numbers of queries and keys in each batch element, and which keys the queries see.
  KeyLimits limits;

  // On devices whose IntermediateForm allows it, rows of keys and values that are not needed for these limits
  // (values_read and WantedRows::Visible) are undefined or not in memory at all.
  Operand queries;  // axes (b, h, q, d); one dtype of F32, F16, BF16 for these three
  Operand keys;     // axes (b, kv head, k, d)
  Operand values;   // axes (b, kv head, k, d)
  // If given, the queries attend to the rows of these sequences, and `limits` has a table. `keys` and `values` are then the
  // rows of the call, which belong to the same rows as `queries` and are stored in the cache, or not given.
  CachedKeys cached;
  // axes (-, h, -, d); F32, F16, BF16; given iff scoring is Additive. The score is then the sum over d of score_weights
  // * tanh(query + key) instead of the dot product.
  Operand score_weights;
  Operand mask;  // axes (b, h, q, k); Bool, non-zero: may attend; optional
  Operand bias;  // axes (b, h, q, k); F32, F16, BF16; optional
  // axes (-, h, -, -); F32; optional. ALiBi: adds -slope * |position of the query - position of the key| to the score,
  // with the positions in the batch element's Sequence.
  Operand alibi_slopes;
  // axes (-, h, -, bucket); F32, F16, BF16; optional. Relative bias: adds element buckets[d + max_distance] of the head to
  // the score, with d = position of the key - position of the query, limited to -max_distance .. max_distance.
  Operand relative_bias;
  const int32_t* buckets = nullptr;  // [2 * max_distance + 1], in host memory that outlives the call
  int64_t num_buckets = 0;
  int64_t max_distance = 0;
  // axes (-, h, -, -); F32, F16, BF16; optional. The score of one more key of each row, which has no value.
  Operand sinks;
  // Keys that every query sees, whatever hides others: bias_key, axes (-, kv head, -, d), with the value bias_value, axes
  // (-, kv head, -, d), both or neither; F32, F16, BF16; and, with has_zero_key, one whose key and value are 0. Their
  // scores have neither bias nor terms of distances. In `weights` they follow the other keys, in this order.
  Operand bias_key;
  Operand bias_value;

  // In a batch with a table, unless it is packed, the results of rows beyond an element's query_count are 0, and -inf in
  // log_sum_exp.
  Operand output;       // axes (b, h, q, d); F32, F16, BF16; optional
  Operand weights;      // axes (b, h, q, k); F32, F16, BF16; optional
  Operand log_sum_exp;  // axes (b, h, q, -); F32; optional

  uint64_t dropout_seed = 0;
  float scale = 1.0f;     // never 0
  float soft_cap = 0.0f;  // 0: off
  float dropout = 0.0f;   // 0 unless training
  EmptyRows empty_rows = EmptyRows::Zero;
  Scoring scoring = Scoring::DotProduct;
  int32_t is_packed = 0;  // 1: batch elements follow each other along the rows of queries and of results
  int32_t has_zero_key = 0;
};

// The number of query heads that share a key head.
inline int64_t group_size(const AttentionProblem& problem) { return problem.num_heads / problem.num_kv_heads; }

// The keys that every query sees.
inline int64_t num_constant_keys(const AttentionProblem& problem) {
  return (problem.bias_key.given != 0 ? 1 : 0) + problem.has_zero_key;
}

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, AttentionProblem>
void visit_operands(Problem& problem, Visit visit) {
  const int64_t b = problem.batch;
  const int64_t h = problem.num_heads;
  const int64_t g = problem.num_kv_heads;
  const int64_t q = problem.limits.num_queries;
  const Sizes<kOperandRank> pairs = {b, h, q, problem.limits.num_keys};
  const Sizes<kOperandRank> all_pairs = {b, h, q, problem.limits.num_keys + num_constant_keys(problem)};
  // In a ragged batch the batch elements may be concatenated along one axis.
  const int64_t query_rows = num_query_rows(problem.limits, b);
  const int64_t key_rows = problem.cached.given != 0 ? query_rows : num_key_rows(problem.limits, b);
  visit(problem.queries, Sizes<kOperandRank>{b, h, query_rows, problem.head_size}, Access::Read);
  visit(problem.keys, Sizes<kOperandRank>{b, g, key_rows, problem.head_size}, Access::Read);
  visit(problem.values, Sizes<kOperandRank>{b, g, key_rows, problem.value_head_size}, Access::Read);
  visit(problem.cached.rotations, Sizes<kOperandRank>{b, 1, problem.limits.num_keys, problem.cached.rotary_size},
        Access::Read);
  visit(problem.score_weights, Sizes<kOperandRank>{1, h, 1, problem.head_size}, Access::Read);
  visit(problem.limits.valid_lens, Sizes<kOperandRank>{b, 1, q, 1}, Access::ReadOnHost);
  visit(problem.limits.positions, Sizes<kOperandRank>{b, 1, query_rows, 1}, Access::ReadOnHost);
  const Sizes<kOperandRank> new_pairs = {b, h, q, q};
  visit(problem.mask, problem.cached.mask_of_new_rows != 0 ? new_pairs : pairs, Access::Read);
  visit(problem.bias, problem.cached.bias_of_new_rows != 0 ? new_pairs : pairs, Access::Read);
  visit(problem.alibi_slopes, Sizes<kOperandRank>{1, h, 1, 1}, Access::Read);
  visit(problem.relative_bias, Sizes<kOperandRank>{1, h, 1, problem.num_buckets}, Access::Read);
  visit(problem.sinks, Sizes<kOperandRank>{1, h, 1, 1}, Access::Read);
  visit(problem.bias_key, Sizes<kOperandRank>{1, g, 1, problem.head_size}, Access::Read);
  visit(problem.bias_value, Sizes<kOperandRank>{1, g, 1, problem.value_head_size}, Access::Read);
  visit(problem.output, Sizes<kOperandRank>{b, h, query_rows, problem.value_head_size}, Access::Write);
  visit(problem.weights, all_pairs, Access::Write);
  visit(problem.log_sum_exp, Sizes<kOperandRank>{b, h, query_rows, 1}, Access::Write);
}

// Which rows of values the attention reads. Of keys it reads the visible rows.
WantedRows values_read(const AttentionProblem& problem);

// flops: for each visible pair 2 * value_head_size for the value, plus 2 * head_size for a dot product or 4 * head_size
// for an additive score (an addition, a tanh, a multiplication and an addition). Lengths, causal mask and window decide
// which pairs are visible, of a ring at most as many for each query as it keeps; mask and bias are not read. Lengths
// without data count as num_keys.
Cost cost_of(const AttentionProblem& problem);
// The flops of cost_of(problem) alone, which backends need for each call.
double flops_of(const AttentionProblem& problem);

}  // namespace heed
