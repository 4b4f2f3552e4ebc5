// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/attention_arguments.h"

#include <cmath>

#include "backends/cpu/dropout.h"
#include "backends/cpu/kernel_operand.h"

namespace heed::cpu {
namespace {

// Of an axis with so many elements.
bool is_scattered(const Operand& operand, int64_t size) {
  return operand.given != 0 && size > 1 && operand.strides[3] != 1;
}

// One that is repeated over the axis is read once.
bool is_gathered(const Operand& operand, int64_t size) {
  return is_scattered(operand, size) && operand.strides[3] != 0;
}

}  // namespace

AttentionArguments arguments_of(const AttentionProblem& problem) {
  AttentionArguments arguments = {};
  arguments.num_heads = problem.num_heads;
  arguments.num_kv_heads = problem.num_kv_heads;
  arguments.num_queries = problem.num_queries;
  arguments.num_keys = problem.num_keys;
  arguments.head_size = problem.head_size;
  arguments.value_head_size = problem.value_head_size;
  set_operand(arguments.queries, problem.queries);
  set_operand(arguments.keys, problem.keys);
  set_operand(arguments.values, problem.values);
  set_operand(arguments.score_weights, problem.score_weights);
  set_operand(arguments.valid_lens, problem.valid_lens);
  set_operand(arguments.mask, problem.mask);
  set_operand(arguments.bias, problem.bias);
  set_operand(arguments.output, problem.output);
  set_operand(arguments.weights, problem.weights);
  set_operand(arguments.log_sum_exp, problem.log_sum_exp);
  arguments.band_first = problem.band_first;
  arguments.band_last = problem.band_last;
  arguments.dropout_seed = problem.dropout_seed;
  arguments.dropout_threshold = dropout_threshold(problem.dropout);
  arguments.dropout_scale = dropout_scale(problem.dropout);
  const bool fits_queries = problem.scoring == Scoring::DotProduct && std::fabs(problem.scale) <= 1.0F;
  arguments.query_scale = fits_queries ? problem.scale : 1.0F;
  arguments.score_scale = fits_queries ? 1.0F : problem.scale;
  arguments.soft_cap = problem.soft_cap;
  arguments.drops = problem.dropout != 0 ? 1 : 0;
  arguments.mean_empty_rows = problem.empty_rows == EmptyRows::Mean ? 1 : 0;
  arguments.is_additive = problem.scoring == Scoring::Additive ? 1 : 0;
  return arguments;
}

void add_attention_reasons(const AttentionProblem& problem, Plan& plan) {
  if (is_scattered(problem.queries, problem.head_size) || is_scattered(problem.keys, problem.head_size) ||
      is_scattered(problem.values, problem.value_head_size)) {
    plan.add_reason(
        "the elements of a head of queries, keys or values do not lie side by side (stride 1), so they are gathered");
  }
  if (is_gathered(problem.mask, problem.num_keys) || is_gathered(problem.bias, problem.num_keys)) {
    plan.add_reason("the elements of a row of mask or bias do not lie side by side (stride 1), so they are gathered");
  }
  if (is_scattered(problem.output, problem.value_head_size) || is_scattered(problem.weights, problem.num_keys))
    plan.add_reason(
        "the elements of a row of output or weights do not lie side by side (stride 1), so they are scattered");
}

}  // namespace heed::cpu
