// SPDX-License-Identifier: Apache-2.0
// Attention over the rows of a cache in the device's memory: ATB's ReshapeAndCache stores the rows of the call, and
// PagedAttention attends to those of the sequences, or SelfAttention for many queries of one sequence.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/backend.h"
#include "ops/attention.h"

namespace heed::ascend {

// Backend::cache_page_rows.
int64_t cache_page_rows(const CacheShape& shape);

// The plan has the reasons why ATB cannot compute the problem, if there are any. `computed`: the dtype of the
// computation.
Plan plan_cached_attention(const AttentionProblem& problem, DType computed);

void run_cached_attention(Npu& npu, const AttentionProblem& problem, aclDataType dtype);

}  // namespace heed::ascend
