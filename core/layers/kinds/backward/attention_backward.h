// SPDX-License-Identifier: Apache-2.0
// What the backward of all layers of attention has in common.
#pragma once

#include <cstddef>

#include "layers/backward/gradients_of_call.h"
#include "layers/kinds/backward/linear_backward.h"
#include "layers/kinds/projection.h"
#include "layers/layer_call.h"
#include "layers/schedule.h"
#include "layers/value.h"
#include "ops/attention_backward.h"

namespace heed {

// The places in LayerCall::saved that they share: the output before any projection, and log_sum_exp.
inline constexpr size_t kSavedOutput = 0;
inline constexpr size_t kSavedLogSumExp = 1;
inline constexpr size_t kFirstSavedOfKind = 2;

// What the attention of a call without a projection of its output writes: in a call with a backward, arrays that are saved.
OutputValues saved_results(Schedule& schedule, const LayerCall& call, const OutputValues& outputs);
// Reserves and saves log_sum_exp of a call with a backward, and returns it; `given`, if it has none.
Value saved_log_sum_exp(Schedule& schedule, const LayerCall& call, const Value& given);
// Adds the copies of results that were written elsewhere.
void add_copies_of_results(Schedule& schedule, const OutputValues& written, const OutputValues& outputs);

// Adds the backward of the call's attention with the gradients by bias, slopes and sinks of the call. The kind sets queries,
// keys, values, output and log_sum_exp of `forward`, which have been arrays of the schedule, and the other gradients.
AttentionBackwardProblem& add_attention_backward(Schedule& schedule, const LayerCall& call,
                                                 const GradientValues& gradients);
// Makes `sum` one of the sums of the problem; null: it is not wanted.
void set_sum(Schedule& schedule, AttentionBackwardProblem& problem, Operand& operand, SummedGradient bit,
             GradientSum* sum, const int32_t (&axes)[kOperandRank]);

// The rows of an input of attention at which its gradient may differ from 0.
RowsWithGradient rows_with_gradient(const LayerCall& call, ProjectedInput input);

// For attention without heads, whose values are not projected: the operands of values, results and their gradients. Returns the
// array of the values' gradient, for add_addend.
Value set_values_backward(Schedule& schedule, AttentionBackwardProblem& problem, const LayerCall& call,
                          const GradientValues& gradients);

}  // namespace heed
