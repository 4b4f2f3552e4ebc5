// SPDX-License-Identifier: Apache-2.0
// Attention for few queries: every key and value is read once, and long items are cut into chunks of keys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/parallel.h"
#include "ops/attention.h"

namespace heed::cpu {

// Whether this kernel is the one for a problem: depends on one item's shape alone, as its bits do.
bool is_for_decode_attention(const KernelTable& kernels, const AttentionProblem& problem);

// What run_decode_attention needs for this problem and for any with less of anything, 0 where it does none of them.
size_t decode_attention_bytes(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers);
// All but scratch_bytes.
Plan plan_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers);
void run_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, const Workers& workers,
                          void* scratch);

}  // namespace heed::cpu
