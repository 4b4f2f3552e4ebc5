// SPDX-License-Identifier: Apache-2.0
// Merges partial results of one attention over disjoint keys.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/merge.h"

namespace heed::cpu {

Plan plan_merge(const KernelTable& kernels, const MergeProblem& problem, int32_t num_workers);
void run_merge(const KernelTable& kernels, const MergeProblem& problem, const Plan& plan, const Workers& workers,
               void* scratch);

}  // namespace heed::cpu
