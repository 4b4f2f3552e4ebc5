// SPDX-License-Identifier: Apache-2.0
// Attention for many queries: panels of queries against blocks of keys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/parallel.h"
#include "ops/attention.h"

namespace heed::cpu {

// What run_flash_attention needs; never less for more of anything.
size_t flash_attention_bytes(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers);
// All but scratch_bytes.
Plan plan_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers);
void run_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, const Workers& workers,
                         void* scratch);

}  // namespace heed::cpu
