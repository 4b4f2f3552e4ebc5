// SPDX-License-Identifier: Apache-2.0
// Attention for few queries: every key and value is read once, and long sequences are cut into chunks of keys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/attention_choice.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/parallel.h"
#include "ops/attention.h"

namespace heed::cpu {

// Whether this kernel is the one for a batch element with so many queries and keys. Depends on the element's sizes
// alone, as its bits do.
bool is_for_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, int64_t num_queries,
                             int64_t num_keys);

// Sets the decode members of the choice. Returns the scratch that run_decode_attention needs for this problem and for
// any with less of anything, 0 where it does none of them.
size_t choose_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                               AttentionChoice& choice);
// What the plan says of kernel, tasks, threads and blocks, and choice.work.
void plan_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                           AttentionChoice& choice, Plan& plan);
// Of a ragged batch, the elements that is_for_decode_attention names.
void run_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, const AttentionChoice& choice,
                          int32_t num_threads, const Workers& workers, void* scratch);

}  // namespace heed::cpu
