// SPDX-License-Identifier: Apache-2.0
// Attention on the CPU, with dot-product or additive scores. Its memory does not grow with the length of the sequences.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/attention.h"

namespace heed::cpu {

// Keys and values must be Strided.
Plan plan_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers);
// `plan`: from plan_attention with the same number of workers, for this problem or one that differs only in addresses.
void run_attention(const KernelTable& kernels, const AttentionProblem& problem, const Plan& plan,
                   const Workers& workers, void* scratch);

}  // namespace heed::cpu
