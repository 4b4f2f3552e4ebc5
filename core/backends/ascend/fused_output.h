// SPDX-License-Identifier: Apache-2.0
// The output of an attention by ATB's SelfAttentionOperation.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/ascend/visibility.h"
#include "ops/attention.h"

namespace heed::ascend {

// Elements of a head that the operation is given. It takes up to 576, by kernels of their own: one of them has looked for
// a row's largest score among some of its keys only, and ATB's version does not tell whether it still does.
inline constexpr int64_t kMaxHeadSize = 256;

// Bytes that the mask for it takes on the device at most; a matter of sizes, and of which operands are given.
double fused_mask_bytes(const AttentionProblem& problem);

// The problem has queries, keys and values of at least one element each, and an output.
void run_fused_output(Npu& npu, const AttentionProblem& problem, const Visibility& visibility, aclDataType dtype);

}  // namespace heed::ascend
