// SPDX-License-Identifier: Apache-2.0
// Attention for many queries: query tiles against key blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/attention_choice.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/parallel.h"
#include "ops/attention.h"

namespace heed::cpu {

// Sets the flash members of the choice. Returns the scratch that run_flash_attention needs; never less for more of
// anything.
size_t choose_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                              AttentionChoice& choice);
// What the plan says of kernel, tasks, threads and blocks, and choice.work.
void plan_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                          AttentionChoice& choice, Plan& plan);
// Of a ragged batch, the elements that is_for_decode_attention leaves.
void run_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, const AttentionChoice& choice,
                         int32_t num_threads, const Workers& workers, void* scratch);

}  // namespace heed::cpu
