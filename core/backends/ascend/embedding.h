// SPDX-License-Identifier: Apache-2.0
// The rows of a table by their numbers, and by positions, on an NPU: ATB's Gather, and Elewise for scale and sums.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/backend.h"
#include "ops/embedding.h"
#include "ops/positions.h"

namespace heed::ascend {

// The plans have the reasons why ATB cannot compute the problem, if there are any.
Plan plan_embedding(const EmbeddingProblem& problem);
Plan plan_positions(const PositionsProblem& problem);

void run_embedding(Npu& npu, const EmbeddingProblem& problem);

// Also writes the rows of a batch element that are no queries.
void run_positions(Npu& npu, const PositionsProblem& problem);

}  // namespace heed::ascend
