// SPDX-License-Identifier: Apache-2.0
// Attention on the CPU, with dot-product or additive scores, in memory that does not grow with the sequence.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/parallel.h"
#include "ops/attention.h"

namespace heed::cpu {

// Keys and values are Strided.
Plan plan_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers);
// `plan` is plan_attention's for this problem or one that differs in addresses alone, and as many workers.
void run_attention(const KernelTable& kernels, const AttentionProblem& problem, const Plan& plan,
                   const Workers& workers, void* scratch);

}  // namespace heed::cpu
