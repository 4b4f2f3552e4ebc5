// SPDX-License-Identifier: Apache-2.0
// heed_attention_merge: merges partial results of one attention over disjoint keys.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace heed {

// The partial result of an attention over some of the keys.
struct AttentionPart {
  Tensor output;
  Tensor log_sum_exp;
};

// `sinks`, `output` and `log_sum_exp` may be null, but not both of the last two. Throws InvalidArgument.
void merge_attention(std::span<const AttentionPart> parts, const Tensor* sinks, const Tensor* output,
                     const Tensor* log_sum_exp);

}  // namespace heed
