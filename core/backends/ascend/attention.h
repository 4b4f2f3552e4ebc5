// SPDX-License-Identifier: Apache-2.0
// Attention on an NPU. ATB's fused operation always computes the output. Weights and log-sum-exp come from a chain of
// simple operations beside it, so that requesting them does not change the output (rule 9).
#pragma once

#include "backends/ascend/npu.h"
#include "backends/backend.h"
#include "ops/attention.h"

namespace heed::ascend {

// ATB reuses the launch of an earlier call of the same sizes if the scales differ by less than 1e-6. For scales below
// this, that error is larger than the rounding of F16.
inline constexpr float kMinScale = 1.0f / 256.0f;
inline constexpr const char* kTooSmallScale = "ATB's attention cannot tell scales below 1/256 apart";

// Sets on_host, with the reasons, if ATB cannot compute the problem.
Plan plan_attention(const AttentionProblem& problem);

// `dtype`: the dtype of the computation, F16 or BF16.
void run_attention(Npu& npu, const AttentionProblem& problem, aclDataType dtype);

}  // namespace heed::ascend
