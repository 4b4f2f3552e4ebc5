// SPDX-License-Identifier: Apache-2.0
// Attention for few queries: reads every key and value once, and cuts long sequences into chunks of keys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/attention_choice.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/attention.h"

namespace heed::cpu {

// Whether this kernel computes a batch element with these numbers of queries and keys. Depends only on the element's
// sizes, so that its result does not change bitwise with the rest of the batch.
bool is_for_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, int64_t num_queries,
                             int64_t num_keys);

// Whether `kernel`, Flash or Decode, computes the task. If the batch elements need one kernel only, that one computes all
// tasks.
bool computes(AttentionKernels kernel, const KernelTable& kernels, const AttentionProblem& problem,
              const AttentionChoice& choice, const AttentionTask& task);

// Sets the decode members of the choice. Returns the scratch bytes that run_decode_attention needs for this problem and
// for any with smaller sizes; 0 if it computes none of them.
size_t choose_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                               AttentionChoice& choice);
// Sets the plan's kernel, tasks, threads and blocks, and choice.work.
void plan_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                           AttentionChoice& choice, Plan& plan);
// In a ragged batch it computes the batch elements for which is_for_decode_attention is true.
void run_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, const AttentionChoice& choice,
                          int32_t num_threads, const Workers& workers, void* memory);

}  // namespace heed::cpu
