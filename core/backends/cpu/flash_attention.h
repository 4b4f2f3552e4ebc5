// SPDX-License-Identifier: Apache-2.0
// Attention for many queries: panels of queries against blocks of keys.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/parallel.h"

namespace heed::cpu {

Plan plan_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers);
void run_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, const Workers& workers,
                         void* scratch);

}  // namespace heed::cpu
