// SPDX-License-Identifier: Apache-2.0
// Adds to each row the table's row of its position.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/positions.h"

namespace heed::cpu {

Plan plan_positions(const KernelTable& kernels, const PositionsProblem& problem, int32_t num_workers);
// `plan`: from plan_positions, for this problem or one that differs only in addresses.
void run_positions(const KernelTable& kernels, const PositionsProblem& problem, const Plan& plan,
                   const Workers& workers);

}  // namespace heed::cpu
