// SPDX-License-Identifier: Apache-2.0
// What ATB's fused attention does not compute, made from the scores: weights and log-sum-exp of an attention, and the
// softmax of a tensor.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/ascend/visibility.h"
#include "ops/attention.h"
#include "ops/softmax.h"

namespace heed::ascend {

// The problem has weights or log_sum_exp, and batch, queries and keys are at least 1.
void run_score_chain(Npu& npu, const AttentionProblem& problem, const Visibility& visibility, aclDataType dtype);

// The problem has at least one score.
void run_softmax(Npu& npu, const SoftmaxProblem& problem);

}  // namespace heed::ascend
