// SPDX-License-Identifier: Apache-2.0
// Attention of queries over keys and values: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/kv_source.h"
#include "ops/op.h"
#include "ops/operand.h"
#include "ops/sequence.h"

namespace heed {

// Same numbers as HEED_EMPTY_ROWS_ and HEED_SCORING_; capi/src asserts it.
enum class EmptyRows : int32_t { Zero = 0, Mean = 1 };
enum class Scoring : int32_t { DotProduct = 0, Additive = 1 };

// One call of attention; the meaning of every member is docs/semantics.md, rule by rule.
struct AttentionProblem {
  Op op = {OpKind::Attention, sizeof(AttentionProblem)};
  int64_t batch = 0;            // b
  int64_t num_heads = 0;        // h, of queries
  int64_t num_kv_heads = 0;     // divides num_heads: head h reads key head h / (num_heads / num_kv_heads)
  int64_t head_size = 0;        // d, of queries and keys
  int64_t value_head_size = 0;  // d, of values

  // How many queries and keys the elements of the batch have, and which keys the queries see.
  KeyLimits limits;

  // Keys and values that WantedRows leaves out for these limits may hold anything, or lie in no memory at all, on a
  // device whose IntermediateForm allows that.
  Operand queries;  // axes (b, h, q, d); one dtype of F32, F16, BF16 for these three
  KvSource keys;    // axes (b, kv head, k, d)
  KvSource values;  // axes (b, kv head, k, d)
  // axes (-, h, -, d); F32, F16, BF16; given iff scoring is Additive: the sum over d of these times tanh(query + key)
  // then takes the place of the product.
  Operand score_weights;
  Operand mask;  // axes (b, h, q, k); Bool, non-zero: may attend; optional
  Operand bias;  // axes (b, h, q, k); F32, F16, BF16; optional
  // axes (-, h, -, -); F32; optional: ALiBi, which adds -slope * |position of the query - position of the key|, with the
  // positions of the element's Sequence.
  Operand alibi_slopes;

  Operand output;       // axes (b, h, q, d); F32, F16, BF16; optional
  Operand weights;      // axes (b, h, q, k); F32, F16, BF16; optional
  Operand log_sum_exp;  // axes (b, h, q, -); F32; optional

  uint64_t dropout_seed = 0;
  float scale = 1.0f;     // never 0
  float soft_cap = 0.0f;  // 0: off
  float dropout = 0.0f;   // 0 unless training
  EmptyRows empty_rows = EmptyRows::Zero;
  Scoring scoring = Scoring::DotProduct;
};

// Calls visit(operand, sizes of its axes, access) for each operand that the problem can have, given or not. Of an axis
// that an operand does not have the size is 1 or its stride 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, AttentionProblem>
void visit_operands(Problem& problem, Visit visit) {
  const int64_t b = problem.batch;
  const int64_t h = problem.num_heads;
  const int64_t g = problem.num_kv_heads;
  const int64_t q = problem.limits.num_queries;
  const Sizes<kOperandRank> pairs = {b, h, q, problem.limits.num_keys};
  // Of a ragged batch, whose elements may lie one after the other along one axis.
  const int64_t query_rows = num_query_rows(problem.limits, b);
  const int64_t key_rows = num_key_rows(problem.limits, b);
  visit(problem.queries, Sizes<kOperandRank>{b, h, query_rows, problem.head_size}, Access::Read);
  visit(problem.keys.rows, Sizes<kOperandRank>{b, g, key_rows, problem.head_size}, Access::Read);
  visit(problem.values.rows, Sizes<kOperandRank>{b, g, key_rows, problem.value_head_size}, Access::Read);
  visit(problem.score_weights, Sizes<kOperandRank>{1, h, 1, problem.head_size}, Access::Read);
  visit(problem.limits.valid_lens, Sizes<kOperandRank>{b, 1, q, 1}, Access::ReadOnHost);
  visit(problem.mask, pairs, Access::Read);
  visit(problem.bias, pairs, Access::Read);
  visit(problem.alibi_slopes, Sizes<kOperandRank>{1, h, 1, 1}, Access::Read);
  visit(problem.output, Sizes<kOperandRank>{b, h, query_rows, problem.value_head_size}, Access::Write);
  visit(problem.weights, pairs, Access::Write);
  visit(problem.log_sum_exp, Sizes<kOperandRank>{b, h, query_rows, 1}, Access::Write);
}

// Which rows of its values an attention reads. Of its keys it reads those that are visible.
WantedRows values_read(const AttentionProblem& problem);

// flops: for each visible pair of query and key 2 * value_head_size for the value, and for the score 2 * head_size, or
// 4 * head_size where scoring is additive: an addition, a tanh, a multiplication and an addition. Pairs are visible as
// far as lengths, causal mask and window tell (a mask or bias is not looked into). Lengths without data count as
// num_keys.
Cost cost_of(const AttentionProblem& problem);
// Only cost_of(problem).flops, which backends need at each call.
double flops_of(const AttentionProblem& problem);

}  // namespace heed
