// SPDX-License-Identifier: Apache-2.0
// Attention over the keys and values of a cache: stores the rows of the call, then attends to those of the sequences.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/attention.h"

namespace heed::cpu {

// The scratch memory suffices for any number of keys up to cached.max_rows.
Plan plan_cached_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers);
// `plan`: from plan_cached_attention, for this problem or one that differs only in addresses, keys and lengths.
void run_cached_attention(const KernelTable& kernels, const AttentionProblem& problem, const Plan& plan,
                          const Workers& workers, void* scratch);

}  // namespace heed::cpu
