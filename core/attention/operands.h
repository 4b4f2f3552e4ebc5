// SPDX-License-Identifier: Apache-2.0
// All operands of a problem with the sizes of their axes, in one place for whoever has to do something with each:
// count its bytes, or bring it to another device.
#pragma once

#include <cstdint>

#include "attention/problem.h"

namespace heed {

// What an operation does with an operand.
enum class Access {
  Read,
  ReadOnHost,  // lengths, which are in the host's memory whatever the device
  Write,
};

template <int rank>
using Sizes = int64_t[rank];

// Calls visit(operand, sizes of its axes, access) for each operand that the problem can have, given or not. Of an axis
// that an operand does not have the size is 1 or its stride 0. Problem is one of attention/problem.h, const or not.
template <typename Problem, typename Visit>
requires requires(Problem& problem) { problem.num_parts; }
void visit_operands(Problem& problem, Visit visit) {
  const int64_t s = problem.batch;
  const int64_t r = problem.rows;
  const int64_t e = problem.input_size;
  visit(problem.input, Sizes<kOperandRank>{1, s, r, e}, Access::Read);
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    auto& part = problem.parts[i];
    const int64_t n = part.output_size;
    const int64_t d = part.head_size;
    visit(part.weight, Sizes<kOperandRank>{1, 1, n, e}, Access::Read);
    visit(part.bias, Sizes<kOperandRank>{1, 1, 1, n}, Access::Read);
    visit(part.output, Sizes<kOperandRank>{n / d, s, r, d}, Access::Write);
  }
  visit(problem.limits.valid_lens, Sizes<kOperandRank>{s, 1, problem.limits.num_queries, 1}, Access::ReadOnHost);
}

template <typename Problem, typename Visit>
requires requires(Problem& problem) { problem.scores; }
void visit_operands(Problem& problem, Visit visit) {
  const Sizes<kOperandRank> pairs = {problem.batch, problem.num_heads, problem.num_queries, problem.num_keys};
  visit(problem.scores, pairs, Access::Read);
  visit(problem.valid_lens, Sizes<kOperandRank>{problem.batch, 1, problem.num_queries, 1}, Access::ReadOnHost);
  visit(problem.weights, pairs, Access::Write);
}

template <typename Problem, typename Visit>
requires requires(Problem& problem) { problem.sizes; }
void visit_operands(Problem& problem, Visit visit) {
  visit(problem.input, problem.sizes, Access::Read);
  visit(problem.output, problem.sizes, Access::Write);
}

template <typename Problem, typename Visit>
requires requires(Problem& problem) { problem.num_kv_heads; }
void visit_operands(Problem& problem, Visit visit) {
  const int64_t b = problem.batch;
  const int64_t h = problem.num_heads;
  const int64_t g = problem.num_kv_heads;
  const int64_t q = problem.num_queries;
  const int64_t k = problem.num_keys;
  const Sizes<kOperandRank> pairs = {b, h, q, k};
  visit(problem.queries, Sizes<kOperandRank>{b, h, q, problem.head_size}, Access::Read);
  visit(problem.keys, Sizes<kOperandRank>{b, g, k, problem.head_size}, Access::Read);
  visit(problem.values, Sizes<kOperandRank>{b, g, k, problem.value_head_size}, Access::Read);
  visit(problem.score_weights, Sizes<kOperandRank>{1, h, 1, problem.head_size}, Access::Read);
  visit(problem.valid_lens, Sizes<kOperandRank>{b, 1, q, 1}, Access::ReadOnHost);
  visit(problem.mask, pairs, Access::Read);
  visit(problem.bias, pairs, Access::Read);
  visit(problem.output, Sizes<kOperandRank>{b, h, q, problem.value_head_size}, Access::Write);
  visit(problem.weights, pairs, Access::Write);
  visit(problem.log_sum_exp, Sizes<kOperandRank>{b, h, q, 1}, Access::Write);
}

}  // namespace heed
