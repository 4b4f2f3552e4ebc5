// SPDX-License-Identifier: Apache-2.0
// A problem of attention as the kernels take it.
#pragma once

#include "attention/problem.h"
#include "backends/backend.h"
#include "backends/cpu/kernels/attention.h"

namespace heed::cpu {

AttentionArguments arguments_of(const AttentionProblem& problem);

// Queries that share a head of keys and values: what one item of the batch has for each of these heads.
inline int64_t rows_of_group(const AttentionProblem& problem) {
  return problem.num_heads / problem.num_kv_heads * problem.num_queries;
}

// Adds the reasons for which any kernel is slower than it could be: operands that are gathered one by one.
void add_attention_reasons(const AttentionProblem& problem, Plan& plan);

}  // namespace heed::cpu
