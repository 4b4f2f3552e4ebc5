// SPDX-License-Identifier: Apache-2.0
// The norms of rows.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/norm.h"

namespace heed::cpu {

Plan plan_norm(const KernelTable& kernels, const NormProblem& problem, int32_t num_workers);
// `plan`: from plan_norm, for this problem or one that differs only in addresses.
void run_norm(const KernelTable& kernels, const NormProblem& problem, const Plan& plan, const Workers& workers,
              void* scratch);

}  // namespace heed::cpu
