// SPDX-License-Identifier: Apache-2.0
// Attention on the CPU, with dot-product or additive scores, in memory that does not grow with the sequence.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/parallel.h"
#include "ops/attention.h"

namespace heed::cpu {

Plan plan_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers);
void run_attention(const KernelTable& kernels, const AttentionProblem& problem, const Workers& workers, void* scratch);

}  // namespace heed::cpu
