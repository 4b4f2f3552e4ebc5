// SPDX-License-Identifier: Apache-2.0
// The output of an attention, computed by ATB's SelfAttentionOperation.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/ascend/visibility.h"
#include "ops/attention.h"

namespace heed::ascend {

// Largest head size that is given to the operation. It accepts up to 576, with other kernels: in some releases one of
// these searches only some of a row's keys for its largest score, and ATB's version number does not tell which
// releases.
inline constexpr int64_t kMaxHeadSize = 256;

// ATB accepts other head sizes, but its own tests use multiples of this.
inline constexpr int64_t kHeadUnit = 16;

// Sequences in one call of ATB. Their offsets are sent with the launch of the kernel, which has room for about 9,700,
// and copies them in a slower way from about 400 on.
inline constexpr int64_t kMaxSequences = 384;

// An upper bound of the size, in bytes, of the operation's mask in the device's memory. It depends on the same properties
// of the problem as masked_pairs (visibility.h).
double fused_mask_bytes(const AttentionProblem& problem);

// The problem has an output, and queries, keys and values of at least one element each.
void run_fused_output(Npu& npu, const AttentionProblem& problem, const Visibility& visibility, aclDataType dtype);

}  // namespace heed::ascend
