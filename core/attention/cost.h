// SPDX-License-Identifier: Apache-2.0
// What an operation costs at least, whoever does it: the measure that heed_layer_explain and the benchmarks report.
#pragma once

#include "attention/problem.h"

namespace heed {

struct Cost {
  double flops = 0;  // multiplications, additions and values of tanh in additive scores
  double bytes = 0;  // every operand once
};

// Of the rows that its parts want. Lengths without data count as num_keys.
Cost cost_of(const LinearProblem& problem);

// flops: one multiplication for each element, none where nothing is dropped.
Cost cost_of(const DropoutProblem& problem);

// flops: for each visible pair of query and key 2 * value_head_size for the value, and for the score 2 * head_size, or
// 4 * head_size where scoring is additive: an addition, a tanh, a multiplication and an addition. Pairs are visible as
// far as lengths, causal mask and window tell (a mask or bias is not looked into). Lengths without data count as
// num_keys.
Cost cost_of(const AttentionProblem& problem);
// Only cost_of(problem).flops, which backends ask at each call.
double flops_of(const AttentionProblem& problem);

}  // namespace heed
