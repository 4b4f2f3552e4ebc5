// SPDX-License-Identifier: Apache-2.0
// Attention on an NPU. ATB's fused operation always computes the output. Weights and log-sum-exp come from a chain of
// simple operations beside it, so that requesting them does not change the output (rule 9).
#pragma once

#include "backends/ascend/npu.h"
#include "backends/backend.h"
#include "ops/attention.h"

namespace heed::ascend {

// The reason for computing an attention with a scale below kMinFactor (operations.h) on the CPU.
inline constexpr const char* kTooSmallScale = "ATB's attention cannot tell scales below 1/256 apart";

// The plan has the reasons why ATB cannot compute the problem, if there are any.
Plan plan_attention(const AttentionProblem& problem);

// `dtype`: the dtype of the computation, F16 or BF16.
void run_attention(Npu& npu, const AttentionProblem& problem, aclDataType dtype);

}  // namespace heed::ascend
