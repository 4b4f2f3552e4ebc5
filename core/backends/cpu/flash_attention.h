// SPDX-License-Identifier: Apache-2.0
// Attention for many queries: multiplies query tiles by key blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/attention_choice.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/attention.h"

namespace heed::cpu {

// Sets the flash members of the choice. Returns the scratch bytes that run_flash_attention needs; they do not decrease
// when a size grows.
size_t choose_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                              AttentionChoice& choice);
// Sets the plan's kernel, tasks, threads and blocks, and choice.work.
void plan_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                          AttentionChoice& choice, Plan& plan);
// In a ragged batch it computes the batch elements for which is_for_decode_attention is false.
void run_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, const AttentionChoice& choice,
                         int32_t num_threads, const Workers& workers, void* memory);

}  // namespace heed::cpu
