// SPDX-License-Identifier: Apache-2.0
// What ATB's fused attention does not give, made from the scores themselves: weights and log-sum-exp of an attention, and
// the softmax of a tensor.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/ascend/visibility.h"
#include "ops/attention.h"
#include "ops/softmax.h"

namespace heed::ascend {

// The problem has weights or a log_sum_exp, and at least one query and one key.
void run_score_chain(Npu& npu, const AttentionProblem& problem, const Visibility& visibility, aclDataType dtype);

// The problem has at least one score.
void run_softmax(Npu& npu, const SoftmaxProblem& problem);

}  // namespace heed::ascend
