// SPDX-License-Identifier: Apache-2.0
// Attention on an NPU: the output by ATB's fused operation, always, and weights and log-sum-exp by a chain of simple
// operations that makes those alone (rule 9).
#pragma once

#include "backends/ascend/npu.h"
#include "backends/backend.h"
#include "ops/attention.h"

namespace heed::ascend {

// With on_host and the reasons where ATB cannot do it.
Plan plan_attention(const AttentionProblem& problem);

// `dtype`: what is computed in, F16 or BF16.
void run_attention(Npu& npu, const AttentionProblem& problem, aclDataType dtype);

}  // namespace heed::ascend
