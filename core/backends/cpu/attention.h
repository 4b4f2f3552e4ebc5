// SPDX-License-Identifier: Apache-2.0
// Attention on the CPU, with dot-product or additive scores, in memory that does not grow with the sequence.
#pragma once

#include "backends/backend.h"

namespace heed::cpu {

Plan plan_attention(const AttentionProblem& problem);
void run_attention(const AttentionProblem& problem, void* scratch);

}  // namespace heed::cpu
