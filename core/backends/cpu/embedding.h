// SPDX-License-Identifier: Apache-2.0
// The rows of a table by their numbers.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/embedding.h"

namespace heed::cpu {

Plan plan_embedding(const KernelTable& kernels, const EmbeddingProblem& problem, int32_t num_workers);
// `plan`: from plan_embedding, for this problem or one that differs only in addresses.
void run_embedding(const KernelTable& kernels, const EmbeddingProblem& problem, const Plan& plan,
                   const Workers& workers);

}  // namespace heed::cpu
